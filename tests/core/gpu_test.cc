// For which GPUs a program has code.
#include "core/gpu.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(HasCodeForTest, CodeRunsOnItsOwnKindThatIsNotOlder) {
  EXPECT_TRUE(HasCodeFor("80-real", 8, 0));
  EXPECT_TRUE(HasCodeFor("80-real", 8, 9));
  EXPECT_FALSE(HasCodeFor("86-real", 8, 0));
  EXPECT_FALSE(HasCodeFor("80-real", 9, 0));
  EXPECT_FALSE(HasCodeFor("80-real", 7, 5));
}

TEST(HasCodeForTest, ADriverTranslatesForWhatIsNewer) {
  EXPECT_TRUE(HasCodeFor("90", 12, 0));
  EXPECT_TRUE(HasCodeFor("90-virtual", 10, 0));
  EXPECT_FALSE(HasCodeFor("90", 8, 9));
}

TEST(HasCodeForTest, ALetterIsForOneAlone) {
  EXPECT_TRUE(HasCodeFor("90a", 9, 0));
  EXPECT_FALSE(HasCodeFor("90a-real", 10, 0));
}

TEST(HasCodeForTest, AnyOfTheListWillDo) {
  EXPECT_TRUE(HasCodeFor("80-real;90-real;120", 8, 6));
  EXPECT_TRUE(HasCodeFor("80-real;90-real;120", 12, 1));
  EXPECT_FALSE(HasCodeFor("80-real;90-real;120", 10, 0));
  EXPECT_FALSE(HasCodeFor("80-real;90", 7, 5));
}

TEST(HasCodeForTest, WhatIsNoNumberIsFoundOutByTrying) {
  EXPECT_TRUE(HasCodeFor("native", 7, 0));
  EXPECT_TRUE(HasCodeFor("80-real;all-major", 7, 0));
}

TEST(FindGpusTest, EitherFindsSomeOrSaysWhyNot) {
  const GpuSearch found = FindGpus();
  EXPECT_EQ(found.gpus.empty(), !found.why_none.empty());
  if (!BuiltWithCuda()) {
    EXPECT_TRUE(found.gpus.empty());
  }
}

}  // namespace
}  // namespace starling
