#include "envs/games/classic_cartpole.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace starling::envs::classic_cartpole_test {
namespace {

using Numbers = std::array<double, 4>;  // position, velocity, angle, angular velocity

FixedPoint Nearest(double value) {
  return FixedPoint::OfParts(std::llround(value * FixedPoint::kOne));
}

ClassicCartpole At(const Numbers& numbers) {
  ClassicCartpole game;
  game.position = Nearest(numbers[0]);
  game.velocity = Nearest(numbers[1]);
  game.angle = Nearest(numbers[2]);
  game.spin = Nearest(numbers[3]);
  return game;
}

Numbers Seen(const ClassicCartpole& game) {
  float seen[4];
  game.Observe(seen);
  return {seen[0], seen[1], seen[2], seen[3]};
}

Outcome Play(ClassicCartpole& game, int action) {
  ScriptedChance none({});
  return game.Step(action, none);
}

// The equations of Barto, Sutton and Anderson without friction, in doubles: a pole of mass m and
// half length l on a cart, M in all, under a force F:
//   angular acceleration  a = (g sin - cos (F + m l w^2 sin) / M) / (l (4/3 - m cos^2 / M))
//   acceleration          (F + m l w^2 sin) / M - m l a cos / M
Numbers AfterStep(const Numbers& from, double force) {
  const auto [x, v, angle, w] = from;
  const double g = 9.8, m = 0.1, M = 1.1, l = 0.5, dt = 0.02;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double pull = (force + m * l * w * w * sine) / M;
  const double a = (g * sine - cosine * pull) / (l * (4.0 / 3 - m * cosine * cosine / M));
  return {x + dt * v, v + dt * (pull - m * l * a * cosine / M), angle + dt * w, w + dt * a};
}

TEST(ClassicCartpole, AStepIsThatOfTheEquations) {
  RandomStream random({.seed = 5});
  const auto draw = [&](double most) { return most * (2 * random.UniformDouble() - 1); };
  for (int i = 0; i < 20'000; ++i) {
    ClassicCartpole game = At({draw(2.4), draw(6), draw(0.209), draw(4)});
    const bool right = i % 2 == 1;
    const Numbers expected = AfterStep(Seen(game), right ? 10 : -10);
    EXPECT_EQ(Play(game, right ? ClassicCartpole::kRight : ClassicCartpole::kLeft).reward, 1);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_NEAR(Seen(game)[k], expected[k], 1e-6) << k;
  }
}

// Computed by CartPole-v1 of Gymnasium 1.4.0 from these numbers.
TEST(ClassicCartpole, PlaysAsGymnasium) {
  ClassicCartpole game = At({0.01, -0.02, 0.03, 0.04});
  Play(game, ClassicCartpole::kLeft);
  Play(game, ClassicCartpole::kRight);
  Play(game, ClassicCartpole::kRight);
  const Numbers expected = {0.00487184969764, 0.17369412027462, 0.03882353861065,
                            -0.22139198924408};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(Seen(game)[k], expected[k], 1e-6) << k;
}

TEST(ClassicCartpole, EndsBeyondTheEdgeAndBeyondTwelveDegrees) {
  const double fallen = 12 * std::numbers::pi / 180;
  const auto ends = [](const Numbers& from) {
    ClassicCartpole game = At(from);
    const Outcome outcome = Play(game, ClassicCartpole::kLeft);
    EXPECT_EQ(outcome.reward, 1) << "also for the last step";
    return outcome.terminal;
  };
  EXPECT_FALSE(ends({2.4, 0, 0, 0})) << "the place moves by the old speed";
  EXPECT_TRUE(ends({2.4, 0.1, 0, 0}));
  EXPECT_FALSE(ends({2.38, 0.9, 0, 0}));
  EXPECT_TRUE(ends({-2.38, -1.1, 0, 0}));
  EXPECT_FALSE(ends({0, 0, fallen, 0}));
  EXPECT_TRUE(ends({0, 0, fallen, 0.01}));
  EXPECT_TRUE(ends({0, 0, -fallen, -0.01}));
}

TEST(ClassicCartpole, BeginsWithinATwentiethOfTheMiddle) {
  constexpr int kWidth = 2 * 838'861;  // 0.1 in parts of 2^-24
  ScriptedChance chance({Draw::Below(kWidth, 0), Draw::Below(kWidth, kWidth - 1),
                         Draw::Below(kWidth, kWidth / 2), Draw::Below(kWidth, kWidth / 4)});
  ClassicCartpole game;
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  const Numbers expected = {-0.05, 0.05, 0, -0.025};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(Seen(game)[k], expected[k], 1e-6) << k;
}

}  // namespace
}  // namespace starling::envs::classic_cartpole_test
