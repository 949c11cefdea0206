#include "core/config/nearest.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

const std::vector<std::string> kKnown = {"count", "envs_per_actor", "unroll", "backend"};

TEST(NearestName, OneSlipOfEachKind) {
  EXPECT_EQ(NearestName("coount", kKnown), "count");     // a letter too many
  EXPECT_EQ(NearestName("cout", kKnown), "count");       // one too few
  EXPECT_EQ(NearestName("unrol1", kKnown), "unroll");    // another one
  EXPECT_EQ(NearestName("bakcend", kKnown), "backend");  // two swapped
  EXPECT_EQ(NearestName("count", kKnown), "count");      // none
}

TEST(NearestName, CaseAndDashesDoNotCount) {
  EXPECT_EQ(NearestName("Envs-Per-Actor", kKnown), "envs_per_actor");
}

TEST(NearestName, NothingIsNear) {
  EXPECT_EQ(NearestName("entropy", kKnown), "");
  EXPECT_EQ(NearestName("", kKnown), "");
  EXPECT_EQ(NearestName("x", {"y"}), "");  // one letter for another is not a slip but a new word
  EXPECT_EQ(NearestName("count", {}), "");
  EXPECT_EQ(NearestName(std::string(1'000'000, 'c'), kKnown), "");
}

TEST(NearestName, TheNearerOneWinsAndTheFirstOfEquals) {
  EXPECT_EQ(NearestName("entropy_en", {"entropy", "entropy_end"}), "entropy_end");
  EXPECT_EQ(NearestName("lanez", {"laner", "lanes"}), "laner");
}

// A third of the letters may be wrong: 2 of 8 are near, 3 of 8 are not.
TEST(NearestName, HowFarIsFar) {
  EXPECT_EQ(NearestName("abcdefXY", {"abcdefgh"}), "abcdefgh");
  EXPECT_EQ(NearestName("abcdeXYZ", {"abcdefgh"}), "");
}

TEST(DidYouMean, EndsASentence) {
  EXPECT_EQ(DidYouMean("cuont", kKnown), "; did you mean \"count\"?");
  EXPECT_EQ(DidYouMean("entropy", kKnown), "");
}

}  // namespace
}  // namespace starling
