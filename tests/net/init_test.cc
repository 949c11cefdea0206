#include <cmath>

#include "net/model.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

ParameterLayout ExampleLayout() {
  ParameterLayout layout;
  layout.Add("conv1.weight", {3, 3, 4, 16});  // (36, 16): columns orthogonal
  layout.Add("conv1.bias", {16});
  layout.Add("fc1.weight", {20, 33});  // more columns than rows: rows orthogonal
  layout.Add("fc1.bias", {33});
  layout.Add("policy.weight", {33, 6});
  layout.Add("policy.bias", {6});
  layout.Add("value.weight", {33, 1});
  layout.Add("value.bias", {1});
  return layout;
}

// The products of every two of the shorter side's vectors: gain^2 on the diagonal, 0 elsewhere.
void ExpectOrthogonal(const std::vector<float>& all, const Parameter& p, double gain) {
  const auto columns = static_cast<std::size_t>(p.shape.back());
  const std::size_t rows = p.size / columns, count = std::min(rows, columns);
  const bool tall = rows >= columns;
  const auto at = [&](std::size_t vector, std::size_t i) {
    return static_cast<double>(
        all[p.offset + (tall ? i * columns + vector : vector * columns + i)]);
  };
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (std::size_t i = 0; i < std::max(rows, columns); ++i) dot += at(a, i) * at(b, i);
      EXPECT_NEAR(dot, a == b ? gain * gain : 0.0, 1e-6 * gain * gain)
          << p.name << " " << a << "," << b;
    }
  }
}

TEST(InitialParametersTest, OrthogonalWithTheGainOfTheLayer) {
  const ParameterLayout layout = ExampleLayout();
  const std::vector<float> all = InitialParameters(layout, 7);
  ASSERT_EQ(all.size(), layout.size());
  ExpectOrthogonal(all, layout.Find("conv1.weight"), std::sqrt(2.0));
  ExpectOrthogonal(all, layout.Find("fc1.weight"), std::sqrt(2.0));
  ExpectOrthogonal(all, layout.Find("policy.weight"), 0.01);
  ExpectOrthogonal(all, layout.Find("value.weight"), 1.0);
}

TEST(InitialParametersTest, BiasesAndGapsAreZero) {
  const ParameterLayout layout = ExampleLayout();
  std::vector<float> all = InitialParameters(layout, 7);
  for (const Parameter& p : layout.parameters()) {
    if (!p.name.ends_with(".weight")) continue;
    std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(p.offset), p.size, 0.0f);
  }
  EXPECT_EQ(all, std::vector<float>(layout.size(), 0.0f));
}

TEST(InitialParametersTest, TheSeedDecidesEverything) {
  const ParameterLayout layout = ExampleLayout();
  EXPECT_EQ(InitialParameters(layout, 7), InitialParameters(layout, 7));
  EXPECT_NE(InitialParameters(layout, 7), InitialParameters(layout, 8));
}

// Uniform over directions: the mean of a coordinate of a unit vector in 36 dimensions over many
// seeds is 0 with deviation 1 / sqrt(36 * seeds), so five deviations are 0.042 for 400 seeds.
TEST(InitialParametersTest, PrefersNoDirection) {
  ParameterLayout layout;
  layout.Add("value.weight", {36, 1});
  double first = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    first += static_cast<double>(InitialParameters(layout, seed)[0]) / 400;
  }
  EXPECT_NEAR(first, 0.0, 5 / std::sqrt(36.0 * 400));
}

}  // namespace
}  // namespace starling::net
