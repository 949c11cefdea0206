// Checks of the ops between a net and its loss: returns, moments, rows of an unroll, clipping.
#include <cmath>

#include "net/checks/draws.h"
#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kSteps = 3e-6, kSums = 1e-5;
constexpr int kMany = 100'003;

}  // namespace

void AddBootstrap(Trial& trial) {
  for (const int n : {1, 33, 300, kMany}) {
    trial.Begin(fmt::format("{} samples", n));
    auto ends = trial.Same(Below<std::uint8_t>(trial, n, 4));
    Floats values = trial.Noise(n), rewards = trial.Noise(n);
    trial.Both([&](auto& backend, auto of) {
      backend.AddBootstrap({.n = n,
                            .gamma = 0.97,
                            .ends = of(ends),
                            .truncated = 2,
                            .values = of(values),
                            .rewards = of(rewards)});
    });
    trial.Expect(rewards, "rewards", kSteps, 1);
  }
}

void Advantages(Trial& trial) {
  for (const UnrollShape& shape :
       {UnrollShape{1, 1, 0.99, 1}, UnrollShape{5, 1, 0.99, 0.95}, UnrollShape{1, 33, 0.9, 1},
        UnrollShape{20, 16, 0.99, 1}, UnrollShape{128, 3, 0.999, 0.9},
        UnrollShape{7, 1000, 0.99, 0.95}, UnrollShape{2, 70'001, 0.99, 0}}) {
    trial.Begin(fmt::format("{} steps of {} environments", shape.steps, shape.envs));
    const int n = shape.steps * shape.envs;
    // Terminals: 0 in nine of ten samples, else 1 or 2.
    std::vector<std::uint8_t> ends = Below<std::uint8_t>(trial, n, 20);
    for (std::uint8_t& end : ends) end = end < 18 ? 0 : static_cast<std::uint8_t>(end - 17);
    auto terminals = trial.Same(std::move(ends));
    Floats rewards = trial.Noise(n), values = trial.Noise(n), bootstrap = trial.Noise(shape.envs);
    Floats advantages = trial.Noise(n), returns = trial.Noise(n);
    trial.Both([&](auto& backend, auto of) {
      backend.Advantages({.shape = shape,
                          .rewards = of(rewards),
                          .terminals = of(terminals),
                          .values = of(values),
                          .bootstrap = of(bootstrap),
                          .advantages = of(advantages),
                          .returns = of(returns)});
    });
    trial.Expect(advantages, "advantages", kSteps, 1);
    trial.Expect(returns, "returns", kSteps, 1);
  }
}

void AdvantageMoments(Trial& trial) {
  for (const int n : {1, 2, 300, 1025, kMany}) {
    for (const float offset : {0.0f, 1000.0f}) {
      trial.Begin(fmt::format("{} samples around {}", n, offset));
      std::vector<float> values(static_cast<std::size_t>(n) + 5);
      for (float& value : values) value = offset + trial.random().Uniform();
      Floats advantages = trial.Given(values);
      auto rows = trial.Same(Shuffled(trial, n, n + 5));
      auto moments = trial.Same(std::vector{Moments{7, 7}});
      trial.Both([&](auto& backend, auto of) {
        backend.AdvantageMoments(
            {.n = n, .rows = of(rows), .advantages = of(advantages), .moments = of(moments)});
      });
      const auto content = moments.Read();
      const Moments is = content.values[0], should = moments.exact[0];
      trial.Note(std::fabs(is.mean - should.mean) / std::max(1.0, should.mean), kSteps, "mean");
      trial.Note(std::fabs(is.deviation - should.deviation) / should.deviation, kSums, "deviation");
      trial.Note(content.within ? 0 : INFINITY, kSteps, "moments");
    }
  }
}

void Gather(Trial& trial) {
  const auto check = [&](int n, int width, auto from, auto to) {
    auto rows = trial.Same(Shuffled(trial, n, n + 3));
    trial.Both(
        [&](auto& backend, auto of) { backend.Gather(n, width, of(rows), of(from), of(to)); });
    return to;
  };
  for (const auto& [n, width] :
       {std::pair(1, 1), std::pair(7, 400), std::pair(300, 3), std::pair(3, kMany)}) {
    trial.Begin(fmt::format("{} rows of {}", n, width));
    Floats to = check(n, width, trial.Noise((n + 3) * width), trial.Noise(n * width));
    trial.Expect(to, "numbers", 0);
    auto bytes = check(n, width, trial.Same(Below<std::uint8_t>(trial, (n + 3) * width, 256)),
                       trial.Same(std::vector<std::uint8_t>(static_cast<std::size_t>(n) * width)));
    trial.ExpectEqual(bytes, "bytes");
  }
}

void ClipByGlobalNorm(Trial& trial) {
  const auto check = [&](Floats gradient, double max_norm, bool unchanged) {
    auto norm = trial.Same(std::vector<double>{-7});
    trial.Both([&](auto& backend, auto of) {
      backend.ClipByGlobalNorm(gradient.size(), max_norm, of(gradient), of(norm));
    });
    trial.Expect(gradient, "gradient", unchanged ? 0 : kSteps);
    const double is = norm.Read().values[0], should = norm.exact[0];
    const bool same = is == should || (std::isnan(is) && std::isnan(should));
    trial.Note(same                ? 0
               : std::isfinite(is) ? std::fabs(is - should) / should
                                   : INFINITY,
               kSteps, "norm");
  };
  for (const int size : {1, 100, 4096, 300'007}) {
    trial.Begin(fmt::format("{} numbers", size));
    check(trial.Weights(size), 0.5, false);
    check(trial.Weights(size), 1e6, true);
    check(trial.Weights(size), 0, true);
  }
  // A gradient that is not finite stays unchanged; the learner refuses it.
  for (const float bad : {NAN, INFINITY}) {
    trial.Begin("a gradient that is not finite");
    std::vector<float> values(1000, 0.25f);
    values[617] = bad;
    check(trial.Given(values), 0.5, true);
  }
}

}  // namespace starling::net::checks
