#include "net/norm.h"

#include <cmath>
#include <limits>

#include "tests/net/arrays.h"

namespace starling::net {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

TEST(CheckFiniteTest, NormByHand) {
  EXPECT_EQ(CheckFinite(std::vector<float>{3, -4}).norm, 5);
  EXPECT_EQ(CheckFinite({}).norm, 0);
  EXPECT_TRUE(CheckFinite({}).finite);
}

TEST(CheckFiniteTest, EveryLengthCountsEveryElement) {
  for (std::size_t n = 1; n < 200; ++n) {
    EXPECT_DOUBLE_EQ(CheckFinite(std::vector<float>(n, 2.0f)).norm,
                     2 * std::sqrt(static_cast<double>(n)));
  }
}

TEST(CheckFiniteTest, FindsOneBadFloatAnywhere) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(150, 1.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const float bad : {nan, -nan, infinity, -infinity}) {
      values[i] = bad;
      EXPECT_FALSE(CheckFinite(values).finite) << bad << " at " << i;
    }
    values[i] = 1.0f;
  }
  values[3] = infinity;
  values[4] = -infinity;  // must not cancel
  EXPECT_FALSE(CheckFinite(values).finite);
}

// Their squares overflow a float, or vanish in it.
TEST(CheckFiniteTest, LargestAndSmallestFloatsAreFinite) {
  const FiniteNorm large = CheckFinite(std::vector<float>(10'000, kLargest));
  EXPECT_TRUE(large.finite);
  EXPECT_NEAR(large.norm / static_cast<double>(kLargest), 100, 1e-10);
  EXPECT_DOUBLE_EQ(CheckFinite(std::vector<float>(4, 1e-40f)).norm,
                   2 * static_cast<double>(1e-40f));
}

TEST(ClipByGlobalNormTest, ScalesOnlyWhatIsTooLong) {
  std::vector<float> gradient{3, 4};
  EXPECT_EQ(ClipByGlobalNorm(gradient, 5), 5);
  EXPECT_EQ(gradient, (std::vector<float>{3, 4}));
  EXPECT_EQ(ClipByGlobalNorm(gradient, 2.5), 5);
  EXPECT_EQ(gradient, (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(ClipByGlobalNorm(gradient, 0), 2.5) << "0 is off";
  EXPECT_EQ(gradient, (std::vector<float>{1.5f, 2}));
}

TEST(ClipByGlobalNormTest, KeepsTheDirectionOfARealGradient) {
  RandomStream random(StreamId{.seed = 51});
  std::vector<float> gradient = testing::Normals<float>(random, 133'000), before = gradient;
  const double norm = ClipByGlobalNorm(gradient, 0.5);
  EXPECT_NEAR(norm, std::sqrt(133'000.0), 5.0);
  EXPECT_NEAR(CheckFinite(gradient).norm, 0.5, 1e-6);
  for (float& g : before) g *= static_cast<float>(0.5 / norm);
  EXPECT_LT(testing::RelativeError(gradient, before), 1e-6);
}

TEST(ClipByGlobalNormTest, LeavesWhatIsNotFiniteForItsReceiverToRefuse) {
  std::vector<float> gradient{1e3f, std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(std::isfinite(ClipByGlobalNorm(gradient, 0.5)));
  EXPECT_EQ(gradient[0], 1e3f);
  EXPECT_TRUE(std::isinf(gradient[1]));
  std::vector<float> huge{kLargest, kLargest};
  ClipByGlobalNorm(huge, 1);
  EXPECT_NEAR(static_cast<double>(huge[0]), std::sqrt(0.5), 1e-6);
}

}  // namespace
}  // namespace starling::net
