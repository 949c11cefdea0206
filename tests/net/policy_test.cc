// Distributions over actions: probabilities, entropies, draws, the likeliest action. For their
// gradients see policy_golden_test.cc.
#include "net/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "net/loss.h"
#include "net/rows.h"

namespace starling::net {
namespace {

using Words = std::vector<std::int32_t>;

// ---- draws of one choice

std::int32_t SampleOne(const std::vector<float>& logits, float uniform) {
  return DrawChoice(static_cast<int>(logits.size()), logits.data(), uniform);
}

// Chi-square over 100 000 draws against softmax(logits): 4 degrees of freedom, so a value
// above 33.4 has a chance of one in a million.
TEST(DrawChoiceTest, FrequenciesAreThoseOfTheSoftmax) {
  const std::vector<float> logits{0.0f, 1.0f, -2.0f, 0.5f, 0.49f};
  constexpr int kDraws = 100'000;
  RandomStream random(StreamId{.seed = 41, .purpose = Purpose::kAction});
  std::vector<double> counts(5);
  for (int i = 0; i < kDraws; ++i) {
    counts.at(static_cast<std::size_t>(SampleOne(logits, random.Uniform()))) += 1;
  }
  double mass = 0, chi_square = 0;
  for (const float z : logits) mass += std::exp(static_cast<double>(z));
  for (std::size_t a = 0; a < 5; ++a) {
    const double expected = kDraws * std::exp(static_cast<double>(logits[a])) / mass;
    chi_square += (counts[a] - expected) * (counts[a] - expected) / expected;
  }
  EXPECT_LT(chi_square, 33.4);
}

// p = (1/4, 3/4): the first value up to 1/4.
TEST(DrawChoiceTest, CutsTheUnitIntervalInOrder) {
  const std::vector<float> logits{0.0f, std::log(3.0f)};
  EXPECT_EQ(SampleOne(logits, 0.0f), 0);
  EXPECT_EQ(SampleOne(logits, 0.2499f), 0);
  EXPECT_EQ(SampleOne(logits, 0.2501f), 1);
  EXPECT_EQ(SampleOne(logits, 0.99999994f), 1);
}

TEST(DrawChoiceTest, AValueWithoutMassIsNeverTaken) {
  for (const float uniform : {0.0f, 0.5f, 0.99999994f}) {
    EXPECT_EQ(SampleOne({-1e9f, 7.0f, -1e9f}, uniform), 1);
    EXPECT_EQ(SampleOne({kForbidden, -1e36f, kForbidden}, uniform), 1);
  }
  // Of seven equal masses the rounded sum may not be reached at the upper end.
  EXPECT_EQ(SampleOne(std::vector<float>(7, 0.1f), 0.99999994f), 6);
}

TEST(DrawChoiceTest, HugeLogitsAreNoTrouble) {
  EXPECT_EQ(SampleOne({3e38f, -3e38f}, 0.7f), 0);
  EXPECT_EQ(SampleOne({-3e38f, -3e38f}, 0.7f), 1);
}

TEST(DrawChoiceTest, ANetThatBlewUpStillActs) {
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

// ---- actions of several words

const std::vector<std::int32_t> kCounts{3, 1, 2};
const PolicyShape kThree{.outputs = 6, .width = 3, .counts = kCounts.data()};
const PolicyShape kBox{.outputs = 4, .width = 2, .box = true};

PolicyShape Tanh(PolicyShape shape) {
  shape.tanh = true;
  return shape;
}

// Every choice takes a draw of its own, in order, whatever its logits.
TEST(DrawActionTest, EachChoiceHasItsOwnLogitsAndDraw) {
  const std::vector<float> rows{50, 0, 0,  7, 0,  50,  //
                                0,  0, 50, 7, 50, 0};
  std::vector<RandomStream> streams(2);
  Words taken(6, -1);
  SampleActions<float>({.n = 2,
                        .policy = kThree,
                        .logits = rows.data(),
                        .streams = streams.data(),
                        .taken = taken.data()});
  EXPECT_EQ(taken, (Words{0, 0, 1, 2, 0, 0}));
  RandomStream three;
  for (int drawn = 0; drawn < 3; ++drawn) three.Uniform();
  EXPECT_EQ(streams[0], three);
}

// Means 3 and -1, deviations 1/2 and 2. Of 40 000 draws, the mean of each is off by less than five
// of its deviations and the variance by less than five of its (sqrt(2 / n) of itself).
TEST(DrawActionTest, CoordinatesAreNormal) {
  const std::vector<float> row{3, -1, std::log(0.5f), std::log(2.0f)};
  constexpr int kDraws = 40'000;
  RandomStream stream(StreamId{.seed = 4, .purpose = Purpose::kAction});
  double sum[2] = {}, squares[2] = {};
  for (int i = 0; i < kDraws; ++i) {
    Words words(2);
    DrawAction(kBox, row.data(), stream, words.data());
    for (std::size_t k = 0; k < 2; ++k) {
      const double u = FloatOf(words[k]);
      sum[k] += u;
      squares[k] += u * u;
    }
  }
  const double means[] = {3, -1}, deviations[] = {0.5, 2};
  for (std::size_t k = 0; k < 2; ++k) {
    const double mean = sum[k] / kDraws, variance = squares[k] / kDraws - mean * mean;
    EXPECT_NEAR(mean, means[k], 5 * deviations[k] / std::sqrt(kDraws));
    const double expected = deviations[k] * deviations[k];
    EXPECT_NEAR(variance, expected, 5 * expected * std::sqrt(2.0 / kDraws));
  }
}

TEST(DrawActionTest, CoordinatesAreFiniteWhateverTheNetSays) {
  for (const float mean : {NAN, INFINITY, -INFINITY, 3e38f}) {
    for (const float log_deviation : {NAN, INFINITY, -INFINITY, 100.0f}) {
      const std::vector<float> row{mean, 0, log_deviation, log_deviation};
      RandomStream stream;
      Words words(2);
      DrawAction(kBox, row.data(), stream, words.data());
      for (const std::int32_t word : words) EXPECT_TRUE(std::isfinite(FloatOf(word)));
      LikeliestAction(kBox, row.data(), words.data());
      for (const std::int32_t word : words) EXPECT_TRUE(std::isfinite(FloatOf(word)));
    }
  }
}

TEST(GreedyActionsTest, TakesTheLargestAndOfEqualsTheFirst) {
  const std::vector<float> logits{1, 3, 2, -5, -5, -6, 0, 0, 0};
  Words taken(3);
  GreedyActions(3, OneChoice(3), logits, taken);
  EXPECT_EQ(taken, (Words{1, 0, 0}));
  Words of_choices(3);
  GreedyActions(1, kThree, std::vector<float>{1, 3, 2, -5, 4, 5}, of_choices);
  EXPECT_EQ(of_choices, (Words{1, 0, 1}));
  Words of_box(2);
  GreedyActions(1, kBox, std::vector<float>{0.25f, -7, 9, 9}, of_box);
  EXPECT_EQ(of_box, (Words{WordOf(0.25f), WordOf(-7)}));
}

// ---- probabilities and entropies

// Logits (0, ln 3, 0), (anything) and (ln 4, 0), values 1, 0 and 1: p = 3/5 * 1 * 1/5.
TEST(RowPolicyTest, TheProbabilityOfChoicesIsAProduct) {
  const std::vector<double> row{0, std::log(3.0), 0, 8, std::log(4.0), 0};
  const Words taken{1, 0, 1};
  const RowPolicy<double> pi(kThree, row.data(), taken.data(), nullptr);
  EXPECT_NEAR(pi.logp(), std::log(3.0 / 25), 1e-14);
  const double first = std::log(5.0) - 0.6 * std::log(3.0);
  const double last = std::log(5.0) - 0.8 * std::log(4.0);
  EXPECT_NEAR(pi.entropy(), first + last, 1e-14);
}

// Means 1 and 0, deviations 2 and 1, the point (5, 1): z = 2 and 1.
TEST(RowPolicyTest, TheDensityOfABox) {
  const std::vector<double> row{1, 0, std::log(2.0), 0};
  const Words taken{WordOf(5), WordOf(1)};
  const RowPolicy<double> pi(kBox, row.data(), taken.data(), nullptr);
  EXPECT_NEAR(pi.logp(), -(4 + 1) / 2.0 - std::log(2.0) - std::log(2 * std::numbers::pi), 1e-14);
  EXPECT_NEAR(pi.entropy(), std::log(2.0) + std::log(2 * std::numbers::pi * std::numbers::e),
              1e-14);
}

// The density of y = tanh(u) is that of u, divided by dy / du = 1 - y^2.
TEST(RowPolicyTest, TanhDividesTheDensityByItsSlope) {
  const std::vector<double> row{0.5, 0, -0.5, 0};
  const Words taken{WordOf(0.75f), WordOf(-1.5f)};
  const RowPolicy<double> plain(kBox, row.data(), taken.data(), nullptr);
  const RowPolicy<double> squashed(Tanh(kBox), row.data(), taken.data(), nullptr);
  double slopes = 0;
  for (const double u : {0.75, -1.5}) slopes += std::log(1 - std::tanh(u) * std::tanh(u));
  EXPECT_NEAR(squashed.logp(), plain.logp() - slopes, 1e-13);
}

// Far out, 1 - tanh^2 is no number, and its log still is: 2 log 2 - 2 |u|.
TEST(RowPolicyTest, TheSlopeOfTanhDoesNotVanish) {
  EXPECT_NEAR(LogTanhSlope(400.0), 2 * std::numbers::ln2 - 800, 1e-10);
  EXPECT_NEAR(LogTanhSlope(-400.0f), 2 * std::numbers::ln2 - 800, 1e-3);
  EXPECT_EQ(LogTanhSlope(0.0), 0);
}

// The 16 points against the integral: a midpoint sum over 200 000 steps.
TEST(TanhEntropyTest, IsTheMeanOfTheSlope) {
  const auto exact = [](double mean, double deviation) {
    constexpr int kSteps = 200'000;
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double z = -10 + 20 * (i + 0.5) / kSteps;
      sum += std::exp(-z * z / 2) * LogTanhSlope(mean + deviation * z);
    }
    return sum * 20 / kSteps / std::sqrt(2 * std::numbers::pi);
  };
  for (const double mean : {0.0, 0.5, -2.0, 4.0}) {
    for (const auto& [deviation, tolerance] : {std::pair(0.1, 1e-10), std::pair(0.5, 1e-7),
                                               std::pair(1.0, 1e-4), std::pair(3.0, 0.05)}) {
      const TanhEntropy<double> found(Gaussian<double>(mean, std::log(deviation)));
      EXPECT_NEAR(found.entropy, exact(mean, deviation), tolerance) << mean << " " << deviation;
    }
  }
}

// ---- masks

TEST(MaskLogitsTest, OnlyZerosForbid) {
  // Rows of an observation of two numbers with a mask of three behind it.
  const std::vector<float> observations{9, 9, 1, 0,          0.5f,  //
                                        0, 0, 0, 1.0f / 255, 0};
  std::vector<float> logits{1, 2, 3, 4, 5, 6};
  MaskLogits<float>(
      {.n = 2, .width = 3, .mask = observations.data() + 2, .row = 5, .logits = logits.data()});
  EXPECT_EQ(logits, (std::vector<float>{1, kForbidden, 3, kForbidden, 5, kForbidden}));
}

// Two of four values are forbidden: the rest has the probabilities, the entropy and the gradient of
// a choice of two, to the bit.
TEST(MaskLogitsTest, TheRestIsASmallerChoice) {
  const std::vector<float> masked{0.5f, kForbidden, -1.25f, kForbidden}, two{0.5f, -1.25f};
  const Words taken{2}, taken_of_two{1};
  std::vector<float> d(4), d_of_two(2);
  const PolicyShape four_values = OneChoice(4), two_values = OneChoice(2);
  const RowPolicy<float> pi(four_values, masked.data(), taken.data(), d.data());
  const RowPolicy<float> smaller(two_values, two.data(), taken_of_two.data(), d_of_two.data());
  EXPECT_EQ(pi.logp(), smaller.logp());
  EXPECT_EQ(pi.entropy(), smaller.entropy());
  pi.Gradient(0.5f, 3, 0.01f, d.data());
  smaller.Gradient(0.5f, 3, 0.01f, d_of_two.data());
  EXPECT_EQ(d, (std::vector<float>{d_of_two[0], 0, d_of_two[1], 0}));
}

}  // namespace
}  // namespace starling::net
