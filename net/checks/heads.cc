// Checks of the ops above a net: actions, returns, the loss, clipping.
#include <cmath>
#include <numeric>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kSteps = 3e-6, kSums = 1e-5;
constexpr double kBoundary = 1e-5;  // the tolerance of a draw near the boundary of two actions
constexpr int kMany = 100'003;

struct Heads {
  int n, actions;
  float scale = 2;  // of the logits
  std::string Name() const {
    return fmt::format("{} samples of {} actions, logits to {}", n, actions, scale);
  }
};

Floats Logits(Trial& trial, const Heads& heads) {
  std::vector<float> logits(heads.n * heads.actions);
  for (float& z : logits) z = heads.scale * (2 * trial.random().Uniform() - 1);
  return trial.Given(logits);
}

// Streams that have drawn part of their blocks.
Twin<RandomStream> Streams(Trial& trial, int n) {
  std::vector<RandomStream> streams;
  for (int i = 0; i < n; ++i) {
    streams.emplace_back(StreamId{.seed = 3, .env = static_cast<std::uint32_t>(i)});
    for (int drawn = 0; drawn < i % 6; ++drawn) streams.back().Bits();
  }
  return trial.Same(std::move(streams));
}

template <class T>
std::vector<T> Below(Trial& trial, int count, int bound) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(trial.random().Below(bound));
  return values;
}

// The distance of u from the interval of [0, 1) that belongs to the action taken.
double Distance(int actions, const double* logits, double u, std::int32_t taken) {
  if (taken < 0 || taken >= actions) return INFINITY;
  const double top = *std::max_element(logits, logits + actions);
  // In float this action has no mass, so it must not be taken.
  if (logits[taken] - top < -110) return INFINITY;
  double total = 0, begin = 0;
  for (int a = 0; a < actions; ++a) {
    if (a == taken) begin = total;
    total += std::exp(logits[a] - top);
  }
  begin /= total;
  const double end = begin + std::exp(logits[taken] - top) / total;
  return std::max({0.0, begin - u, u - end});
}

// `n` different rows of `all`, in any order.
std::vector<std::int32_t> Shuffled(Trial& trial, int n, int all) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(all));
  std::iota(rows.begin(), rows.end(), 0);
  for (int i = 0; i < n; ++i) {
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(i) + trial.random().Below(all - i)]);
  }
  rows.resize(static_cast<std::size_t>(n));
  return rows;
}

void ExpectLoss(Trial& trial, int n, Floats& dlogits, Floats& dvalues, Twin<LossReport>& report) {
  trial.Expect(dlogits, "dlogits", kSums, 1.0 / n);
  trial.Expect(dvalues, "dvalues", kSteps, 1.0 / n);
  // The terms of the report are compared one by one: their magnitudes differ.
  const LossReport is = report.Read().values[0], should = report.exact[0];
  const auto note = [&](double LossReport::*part, const char* what) {
    const double error = std::fabs(is.*part - should.*part);
    trial.Note(std::isfinite(error) ? error / std::max(1.0, std::fabs(should.*part)) : INFINITY,
               kSums, what);
  };
  note(&LossReport::policy_loss, "policy_loss");
  note(&LossReport::value_loss, "value_loss");
  note(&LossReport::entropy, "entropy");
  note(&LossReport::kl, "kl");
  note(&LossReport::clipped, "clipped");
}

// A minibatch of PPO: rows of a larger unroll, normalised advantages, three policies. No ratio
// lies so near to the clip that rounding decides.
void PpoLoss(Trial& trial, const Heads& heads, double value_clip) {
  trial.Begin(heads.Name() + (value_clip > 0 ? " of PPO, values clipped" : " of PPO"));
  const int n = heads.n, all = n + 7;
  Floats logits = Logits(trial, heads), values = trial.Noise(n), advantages = trial.Noise(all);
  Floats returns = trial.Noise(all), old_values = trial.Noise(all);
  Floats dlogits = trial.Noise(n * heads.actions), dvalues = trial.Noise(n);
  auto taken = trial.Same(Below<std::int32_t>(trial, all, heads.actions));
  auto rows = trial.Same(Shuffled(trial, n, all));
  auto weights = trial.Same(std::vector{LossWeights{
      .value_coef = 0.4, .entropy = 0.02, .scale = 3, .clip = 0.2, .value_clip = value_clip}});
  auto moments = trial.Same(std::vector{Moments{0.125, 0.75}});
  auto report = trial.Same(std::vector{LossReport{7, 7, 7, 7, 7}});
  Floats now = trial.Noise(all);
  trial.Reference([&](auto& backend, auto of) {
    backend.LogProbs({.n = n,
                      .actions = heads.actions,
                      .logits = of(logits),
                      .rows = of(rows),
                      .taken = of(taken),
                      .logps = of(now)});
  });
  constexpr double kShifts[] = {-0.5, -0.1, 0, 0.1, 0.5};  // of log r: e^0.1 < 1.2 < e^0.5
  std::vector<double> proximal = now.exact, old = now.exact;
  for (double& logp : proximal) logp += kShifts[trial.random().Below(5)];
  for (std::size_t i = 0; i < old.size(); ++i) {
    old[i] = proximal[i] + kShifts[trial.random().Below(5)];
  }
  Floats proximal_logps = trial.Rounded(proximal), old_logps = trial.Rounded(old);
  trial.Both([&](auto& backend, auto of) {
    backend.Loss({.n = n,
                  .actions = heads.actions,
                  .logits = of(logits),
                  .values = of(values),
                  .samples = {.rows = of(rows),
                              .taken = of(taken),
                              .advantages = of(advantages),
                              .returns = of(returns),
                              .moments = of(moments),
                              .old_logps = of(old_logps),
                              .proximal_logps = of(proximal_logps),
                              .old_values = of(old_values)},
                  .weights = of(weights),
                  .dlogits = of(dlogits),
                  .dvalues = of(dvalues),
                  .report = of(report)});
  });
  ExpectLoss(trial, n, dlogits, dvalues, report);
}

}  // namespace

void SampleActions(Trial& trial) {
  for (const Heads& heads : {Heads{1, 1}, Heads{1, 6}, Heads{300, 3}, Heads{77, 18},
                             Heads{16, 6, 1e30f}, Heads{33, 5, 60}, Heads{5000, 4}}) {
    trial.Begin(heads.Name());
    Floats logits = Logits(trial, heads);
    auto streams = Streams(trial, heads.n);
    std::vector<RandomStream> before = streams.exact;
    auto taken = trial.Same(std::vector<std::int32_t>(heads.n, -7));
    trial.Both([&](auto& backend, auto of) {
      backend.SampleActions(heads.n, heads.actions, of(logits), of(streams), of(taken));
    });
    // Near a boundary, rounding may lead to another action than the reference's. So each action is
    // compared with the draw behind it.
    const auto content = taken.Read();
    double furthest = content.within ? 0 : INFINITY;
    for (std::size_t i = 0; i < content.values.size(); ++i) {
      const double* const row = logits.exact.data() + i * heads.actions;
      furthest =
          std::max(furthest, Distance(heads.actions, row, before[i].Uniform(), content.values[i]));
    }
    trial.Note(furthest, kBoundary, "actions");
    trial.ExpectEqual(streams, "streams");
  }
  // A valid action is taken even if logits are not finite.
  trial.Begin("logits that are no numbers");
  Floats logits = trial.Given(std::vector<float>{NAN, 0, 1, INFINITY, 0, 2, 1, NAN, NAN});
  auto streams = Streams(trial, 3);
  auto taken = trial.Same(std::vector<std::int32_t>(3, -7));
  trial.Both([&](auto& backend, auto of) {
    backend.SampleActions(3, 3, of(logits), of(streams), of(taken));
  });
  for (const std::int32_t action : taken.Read().values) {
    trial.Note(action >= 0 && action < 3 ? 0 : INFINITY, kBoundary, "actions");
  }
}

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

void Loss(Trial& trial) {
  for (const Heads& heads : {Heads{1, 1}, Heads{1, 6}, Heads{300, 3}, Heads{77, 18}, Heads{20, 6},
                             Heads{33, 5, 1e4f}, Heads{320, 4}, Heads{kMany, 3}}) {
    trial.Begin(heads.Name());
    const int n = heads.n;
    Floats logits = Logits(trial, heads), values = trial.Noise(n), advantages = trial.Noise(n);
    Floats returns = trial.Noise(n), dlogits = trial.Noise(n * heads.actions);
    Floats dvalues = trial.Noise(n);
    auto taken = trial.Same(Below<std::int32_t>(trial, n, heads.actions));
    auto weights =
        trial.Same(std::vector{LossWeights{.value_coef = 0.4, .entropy = 0.02, .scale = 3}});
    auto report = trial.Same(std::vector{LossReport{7, 7, 7}});
    trial.Both([&](auto& backend, auto of) {
      backend.Loss(
          {.n = n,
           .actions = heads.actions,
           .logits = of(logits),
           .values = of(values),
           .samples = {.taken = of(taken), .advantages = of(advantages), .returns = of(returns)},
           .weights = of(weights),
           .dlogits = of(dlogits),
           .dvalues = of(dvalues),
           .report = of(report)});
    });
    ExpectLoss(trial, n, dlogits, dvalues, report);
  }
  for (const Heads& heads :
       {Heads{1, 1}, Heads{1, 6}, Heads{300, 3}, Heads{77, 18}, Heads{5000, 4}}) {
    for (const double value_clip : {0.0, 0.3}) PpoLoss(trial, heads, value_clip);
  }
}

void LogProbs(Trial& trial) {
  for (const Heads& heads : {Heads{1, 1}, Heads{300, 3}, Heads{77, 18}, Heads{33, 5, 60}}) {
    for (const bool whole : {true, false}) {
      trial.Begin(heads.Name() + (whole ? "" : ", rows"));
      Floats logits = Logits(trial, heads), logps = trial.Noise(heads.n);
      auto taken = trial.Same(Below<std::int32_t>(trial, heads.n, heads.actions));
      auto rows = trial.Same(Shuffled(trial, heads.n, heads.n));
      trial.Both([&](auto& backend, auto of) {
        backend.LogProbs({.n = heads.n,
                          .actions = heads.actions,
                          .logits = of(logits),
                          .rows = of(whole ? nullptr : &rows),
                          .taken = of(taken),
                          .logps = of(logps)});
      });
      trial.Expect(logps, "log probabilities", kSteps, heads.scale);
    }
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
