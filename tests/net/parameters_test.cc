#include "net/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "net/model.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

ParameterLayout LayoutOf(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& parameters) {
  ParameterLayout layout;
  for (const auto& [name, shape] : parameters) layout.Add(name, shape);
  return layout;
}

ParameterLayout Example() {
  return LayoutOf({{"a.weight", {3, 5}}, {"a.bias", {16}}, {"b.weight", {2, 3, 4}}});
}

// 15 floats end at 15, so the next starts at 16; 16 end at 32, exactly a cache line; 24 end at 56,
// rounded up to 64.
TEST(ParameterLayoutTest, EveryParameterStartsACacheLine) {
  const ParameterLayout layout = Example();
  EXPECT_EQ(layout.Find("a.weight").offset, 0u);
  EXPECT_EQ(layout.Find("a.bias").offset, 16u);
  EXPECT_EQ(layout.Find("b.weight").offset, 32u);
  EXPECT_EQ(layout.size(), 64u);
  EXPECT_EQ(layout.num_weights(), 15u + 16u + 24u);
  EXPECT_EQ(layout.Find("b.weight").shape, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(ParameterLayoutTest, FingerprintNamesTheArchitecture) {
  const std::uint64_t fingerprint = Example().fingerprint();
  EXPECT_EQ(Example().fingerprint(), fingerprint);
  // Pinned: learner and actor may be different builds on different machines.
  EXPECT_EQ(fingerprint, 14343238413529127889u);

  const ParameterLayout others[] = {
      LayoutOf({{"a.weight", {3, 5}}, {"a.bias", {16}}, {"c.weight", {2, 3, 4}}}),
      LayoutOf({{"a.weight", {5, 3}}, {"a.bias", {16}}, {"b.weight", {2, 3, 4}}}),  // equal sizes
      LayoutOf({{"a.bias", {16}}, {"a.weight", {3, 5}}, {"b.weight", {2, 3, 4}}}),
      LayoutOf({{"a.weight", {3, 5}}, {"a.bias", {16}}}),
      ParameterLayout(),
  };
  for (const ParameterLayout& other : others) {
    EXPECT_NE(other.fingerprint(), fingerprint);
  }
}

TEST(ParameterLayoutDeathTest, RefusesWhatOnlyABugCouldAskFor) {
  EXPECT_DEATH(Example().Add("a.bias", {1}), "a.bias added twice");
  EXPECT_DEATH(Example().Add("c", {4, 0}), "dimension of 0");
  EXPECT_DEATH(Example().Find("c"), "no parameter named c");
}

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

ParameterLayout HiddenLayout() {
  ParameterLayout layout;
  layout.Add("conv1.weight", {3, 3, 16, 64});  // fan-in 144
  layout.Add("conv1.bias", {64});
  layout.Add("norm1.scale", {64});
  layout.Add("norm1.bias", {64});
  layout.Add("lstm1.input_weight", {100, 256});
  layout.Add("lstm1.hidden_weight", {64, 256});
  layout.Add("lstm1.bias", {256});
  layout.Add("policy.weight", {64, 6});
  layout.Add("policy.bias", {6});
  layout.Add("value.weight", {64, 1});
  layout.Add("value.bias", {1});
  return layout;
}

std::span<const float> Of(const std::vector<float>& all, const Parameter& p) {
  return std::span(all).subspan(p.offset, p.size);
}

double Deviation(std::span<const float> values) {
  double squares = 0;
  for (const float v : values) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(InitialParametersTest, HeadsScalesAndForgetGatesAreTheSameInEveryWay) {
  const ParameterLayout layout = HiddenLayout();
  for (const auto init :
       {Initialisation::kOrthogonal, Initialisation::kKaiming, Initialisation::kFanIn}) {
    const std::vector<float> all = InitialParameters(layout, 7, init);
    ExpectOrthogonal(all, layout.Find("policy.weight"), 0.01);
    ExpectOrthogonal(all, layout.Find("value.weight"), 1.0);
    EXPECT_EQ(Deviation(Of(all, layout.Find("policy.bias"))), 0);
    for (const float scale : Of(all, layout.Find("norm1.scale"))) EXPECT_EQ(scale, 1.0f);
    EXPECT_EQ(Deviation(Of(all, layout.Find("norm1.bias"))), 0);
    const auto forget = Of(all, layout.Find("lstm1.bias")).subspan(64, 64);
    for (const float bias : forget) EXPECT_EQ(bias, 1.0f);
  }
}

// The layers of a separate critic begin as those of the actor do.
TEST(InitialParametersTest, ACriticIsNamedForNothing) {
  ParameterLayout layout;
  layout.Add("critic.norm1.scale", {32});
  layout.Add("critic.norm1.bias", {32});
  layout.Add("critic.lstm1.input_weight", {16, 32});
  layout.Add("critic.lstm1.bias", {32});
  layout.Add("critic.fc1.weight", {8, 4});
  const std::vector<float> all = InitialParameters(layout, 7, Initialisation::kFanIn);
  EXPECT_EQ(Deviation(Of(all, layout.Find("critic.norm1.bias"))), 0);
  for (const float bias : Of(all, layout.Find("critic.lstm1.bias")).subspan(8, 8)) {
    EXPECT_EQ(bias, 1.0f);
  }
  const std::vector<float> orthogonal = InitialParameters(layout, 7);
  ExpectOrthogonal(orthogonal, layout.Find("critic.lstm1.input_weight"), 1.0);
  ExpectOrthogonal(orthogonal, layout.Find("critic.fc1.weight"), std::sqrt(2.0));
}

TEST(InitialParametersTest, OrthogonalLstmsKeepLengths) {
  const ParameterLayout layout = HiddenLayout();
  const std::vector<float> all = InitialParameters(layout, 7);
  ExpectOrthogonal(all, layout.Find("lstm1.input_weight"), 1.0);
  ExpectOrthogonal(all, layout.Find("lstm1.hidden_weight"), 1.0);
}

// A weight that is too wide for Gram-Schmidt: it would take 1,100^2 x 1,800 steps. Its vectors are
// as long as they should be and at right angles, and their numbers are those of uniformly
// distributed ones: nearly normal, with the fourth moment 3 n / (n + 2) of a coordinate on a
// sphere.
TEST(InitialParametersTest, WideWeightsAreOrthogonalToo) {
  constexpr std::size_t kRows = 1100, kColumns = 1800;
  ParameterLayout layout;
  layout.Add("fc1.weight", {kRows, kColumns});
  const std::vector<float> all = InitialParameters(layout, 7);
  const auto row = [&](std::size_t r) { return std::span(all).subspan(r * kColumns, kColumns); };
  const auto dot = [](std::span<const float> a, std::span<const float> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (const std::size_t r : {0u, 1u, 15u, 16u, 700u, 1099u}) {
    EXPECT_NEAR(dot(row(r), row(r)), 2.0, 1e-5) << r;
    for (std::size_t other = 0; other < kRows; other += other < 40 ? 1 : 97) {
      if (other == r) continue;
      EXPECT_NEAR(dot(row(r), row(other)), 0, 1e-5) << r << ", " << other;
    }
  }
  double squares = 0, fourth = 0, largest = 0;
  for (const float value : all) {
    const double scaled = value * std::sqrt(kColumns / 2.0);
    squares += scaled * scaled / static_cast<double>(all.size());
    fourth += scaled * scaled * scaled * scaled / static_cast<double>(all.size());
    largest = std::max(largest, std::abs(scaled));
  }
  EXPECT_NEAR(squares, 1, 1e-4);
  EXPECT_NEAR(fourth, 3.0 * kColumns / (kColumns + 2), 0.02);
  EXPECT_LT(largest, 6.5);
}

TEST(InitialParametersTest, KaimingIsNormalByFanIn) {
  const ParameterLayout layout = HiddenLayout();
  const std::vector<float> all = InitialParameters(layout, 7, Initialisation::kKaiming);
  EXPECT_NEAR(Deviation(Of(all, layout.Find("conv1.weight"))), std::sqrt(2.0 / 144), 0.003);
  EXPECT_NEAR(Deviation(Of(all, layout.Find("lstm1.input_weight"))), 0.1, 0.002);
  EXPECT_EQ(Deviation(Of(all, layout.Find("conv1.bias"))), 0);
}

TEST(InitialParametersTest, FanInIsUniformWithBiases) {
  const ParameterLayout layout = HiddenLayout();
  const std::vector<float> all = InitialParameters(layout, 7, Initialisation::kFanIn);
  const float most = 1 / std::sqrt(144.0f);
  for (const char* name : {"conv1.weight", "conv1.bias"}) {
    const auto values = Of(all, layout.Find(name));
    const auto [low, high] = std::ranges::minmax(values);
    EXPECT_GE(low, -most);
    EXPECT_LE(high, most);
    EXPECT_LT(low, -0.9f * most);
    EXPECT_GT(high, 0.9f * most);
  }
  // A uniform number of [-a, a] has the standard deviation a / sqrt(3).
  EXPECT_NEAR(Deviation(Of(all, layout.Find("conv1.weight"))), 1 / std::sqrt(3 * 144.0), 0.001);
}

}  // namespace
}  // namespace starling::net
