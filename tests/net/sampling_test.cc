#include <cmath>

#include "net/loss.h"
#include "tests/net/arrays.h"

namespace starling::net {
namespace {

std::int32_t SampleOne(const std::vector<float>& logits, float uniform) {
  std::int32_t taken = -1;
  SampleActions(1, static_cast<int>(logits.size()), logits, {&uniform, 1}, {&taken, 1});
  return taken;
}

// Chi-square over 100 000 draws against softmax(logits): 4 degrees of freedom, so a value
// above 33.4 has a chance of one in a million.
TEST(SampleActionsTest, FrequenciesAreThoseOfTheSoftmax) {
  const std::vector<float> logits{0.0f, 1.0f, -2.0f, 0.5f, 0.49f};
  constexpr int kDraws = 100'000;
  RandomStream random(StreamId{.seed = 41, .purpose = Purpose::kAction});
  std::vector<float> rows, uniforms;
  for (int i = 0; i < kDraws; ++i) {
    rows.insert(rows.end(), logits.begin(), logits.end());
    uniforms.push_back(random.Uniform());
  }
  std::vector<std::int32_t> taken(kDraws);
  SampleActions(kDraws, 5, rows, uniforms, taken);
  std::vector<double> counts(5);
  for (const std::int32_t action : taken) counts.at(static_cast<std::size_t>(action)) += 1;
  double mass = 0, chi_square = 0;
  for (const float z : logits) mass += std::exp(static_cast<double>(z));
  for (std::size_t a = 0; a < 5; ++a) {
    const double expected = kDraws * std::exp(static_cast<double>(logits[a])) / mass;
    chi_square += (counts[a] - expected) * (counts[a] - expected) / expected;
  }
  EXPECT_LT(chi_square, 33.4);
}

// p = (1/4, 3/4): the first action up to 1/4.
TEST(SampleActionsTest, CutsTheUnitIntervalInOrder) {
  const std::vector<float> logits{0.0f, std::log(3.0f)};
  EXPECT_EQ(SampleOne(logits, 0.0f), 0);
  EXPECT_EQ(SampleOne(logits, 0.2499f), 0);
  EXPECT_EQ(SampleOne(logits, 0.2501f), 1);
  EXPECT_EQ(SampleOne(logits, 0.99999994f), 1);
}

TEST(SampleActionsTest, AnActionWithoutMassIsNeverTaken) {
  for (const float uniform : {0.0f, 0.5f, 0.99999994f}) {
    EXPECT_EQ(SampleOne({-1e9f, 7.0f, -1e9f}, uniform), 1);
  }
  // Of seven equal masses the rounded sum may not be reached at the upper end.
  EXPECT_EQ(SampleOne(std::vector<float>(7, 0.1f), 0.99999994f), 6);
}

TEST(SampleActionsTest, HugeLogitsAreNoTrouble) {
  EXPECT_EQ(SampleOne({3e38f, -3e38f}, 0.7f), 0);
  EXPECT_EQ(SampleOne({-3e38f, -3e38f}, 0.7f), 1);
}

TEST(SampleActionsTest, ANetThatBlewUpStillActs) {
  const float nan = NAN, infinity = INFINITY;
  for (const std::vector<float>& logits : {std::vector<float>{nan, nan, nan},
                                           {0, nan, 0},
                                           {infinity, 0, infinity},
                                           {-infinity, -infinity, 0}}) {
    const std::int32_t action = SampleOne(logits, 0.5f);
    EXPECT_GE(action, 0);
    EXPECT_LT(action, 3);
  }
}

TEST(SampleActionsTest, RowsHaveTheirOwnLogitsAndDraw) {
  const std::vector<float> logits{50, 0, 0, 0, 50, 0, 0, 0, 50, 0, 0, 0};
  const std::vector<float> uniforms{0.9f, 0.1f, 0.5f, 0.5f};
  std::vector<std::int32_t> taken(4);
  SampleActions(4, 3, logits, uniforms, taken);
  EXPECT_EQ(taken, (std::vector<std::int32_t>{0, 1, 2, 1}));
}

TEST(GreedyActionsTest, TakesTheLargestAndOfEqualsTheFirst) {
  const std::vector<float> logits{1, 3, 2, -5, -5, -6, 0, 0, 0};
  std::vector<std::int32_t> taken(3);
  GreedyActions(3, 3, logits, taken);
  EXPECT_EQ(taken, (std::vector<std::int32_t>{1, 0, 0}));
}

}  // namespace
}  // namespace starling::net
