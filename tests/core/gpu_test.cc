// For which GPUs a program has code.
#include "core/gpu.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(HasCodeForTest, BySortAndAgeOfTheCode) {
  const struct {
    const char* architectures;
    int major, minor;
    bool runs;
  } cases[] = {
      // Machine code runs on its own kind of GPU, from its version on.
      {"80-real", 8, 0, true},
      {"80-real", 8, 9, true},
      {"86-real", 8, 0, false},
      {"80-real", 9, 0, false},
      {"80-real", 7, 5, false},
      // A driver translates virtual code for newer GPUs.
      {"90", 12, 0, true},
      {"90-virtual", 10, 0, true},
      {"90", 8, 9, false},
      // A letter stands for one GPU alone.
      {"90a", 9, 0, true},
      {"90a-real", 10, 0, false},
      // One of a list is enough.
      {"80-real;90-real;120", 8, 6, true},
      {"80-real;90-real;120", 12, 1, true},
      {"80-real;90-real;120", 10, 0, false},
      {"80-real;90", 7, 5, false},
      // An unknown word may run.
      {"native", 7, 0, true},
      {"80-real;all-major", 7, 0, true},
  };
  for (const auto& [architectures, major, minor, runs] : cases) {
    EXPECT_EQ(HasCodeFor(architectures, major, minor), runs) << architectures << " on " << major;
  }
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
