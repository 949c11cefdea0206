// Checks of the ops on a policy's outputs: actions, log probabilities, the loss.
#include <cmath>

#include "core/action_space.h"
#include "net/checks/draws.h"
#include "net/checks/trial.h"
#include "net/policy.h"

namespace starling::net::checks {
namespace {

constexpr double kSteps = 3e-6, kSums = 1e-5;
constexpr double kBoundary = 1e-5;  // the tolerance of a draw near the boundary of two values
constexpr double kDraw = 1e-5;      // of a coordinate that is drawn
constexpr int kMany = 100'003;

struct Heads {
  int n;
  ActionSpace actions;
  float scale = 2;  // of the logits
  std::string Name() const {
    const char* const kind = actions.box() ? "coordinates" : "choices";
    return fmt::format("{} samples of {} {}, {} outputs to {}", n, actions.width(), kind,
                       actions.outputs(), scale);
  }
};

ActionSpace Choice(int count) { return ActionSpace::Choice(count); }
ActionSpace Box(int width, ActionBounds bounds = ActionBounds::kClip) {
  const std::vector<float> ones(static_cast<std::size_t>(width), 1.0f);
  ActionSpace box = ActionSpace::Box(ones, ones);
  box.bounds = bounds;
  return box;
}
const ActionSpace kThree = ActionSpace::Choices({3, 1, 18});

// The shape of a policy in both memories.
class Shapes {
 public:
  Shapes(Trial& trial, const ActionSpace& actions)
      : several_(!actions.box() && !actions.one_choice()),
        counts_(trial.Same(actions.counts)),
        shape_({.outputs = actions.outputs(),
                .width = actions.width(),
                .box = actions.box(),
                .tanh = actions.bounds == ActionBounds::kTanh}) {}

  template <class Of>
  PolicyShape At(Of of) {
    PolicyShape shape = shape_;
    if (several_) shape.counts = of(counts_);
    return shape;
  }

 private:
  bool several_;
  Twin<std::int32_t> counts_;
  PolicyShape shape_;
};

Floats Logits(Trial& trial, const Heads& heads) {
  std::vector<float> logits(static_cast<std::size_t>(heads.n * heads.actions.outputs()));
  for (float& z : logits) z = heads.scale * (2 * trial.random().Uniform() - 1);
  return trial.Given(logits);
}

// n actions: values in range, coordinates within 3.
Twin<std::int32_t> Actions(Trial& trial, const ActionSpace& actions, int n) {
  std::vector<std::int32_t> words;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < actions.width(); ++k) {
      const auto count = actions.box() ? 0 : actions.counts[static_cast<std::size_t>(k)];
      words.push_back(actions.box() ? WordOf(6 * trial.random().Uniform() - 3)
                                    : static_cast<std::int32_t>(trial.random().Below(count)));
    }
  }
  return trial.Same(std::move(words));
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

// The distance of u from the interval of [0, 1) that belongs to the value taken.
double Distance(int count, const double* logits, double u, std::int32_t taken) {
  if (taken < 0 || taken >= count) return INFINITY;
  const double top = *std::max_element(logits, logits + count);
  // In float this value has no mass, so it must not be taken.
  if (logits[taken] - top < -110) return INFINITY;
  double total = 0, begin = 0;
  for (int a = 0; a < count; ++a) {
    if (a == taken) begin = total;
    total += std::exp(logits[a] - top);
  }
  begin /= total;
  const double end = begin + std::exp(logits[taken] - top) / total;
  return std::max({0.0, begin - u, u - end});
}

// Near a boundary, rounding may lead to another value than the reference's. So each is compared
// with the draw behind it; coordinates are compared with the reference's.
void ExpectDraws(Trial& trial, const Heads& heads, const Floats& logits,
                 std::vector<RandomStream> before, Twin<std::int32_t>& taken) {
  const auto content = taken.Read();
  const auto width = static_cast<std::size_t>(heads.actions.width());
  double furthest = content.within ? 0 : INFINITY, largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double* row = logits.exact.data() + i * static_cast<std::size_t>(heads.actions.outputs());
    for (std::size_t k = 0; k < width; ++k) {
      const std::int32_t word = content.values[i * width + k];
      if (heads.actions.box()) {
        const double is = FloatOf(word), should = FloatOf(taken.exact[i * width + k]);
        largest = std::max(largest,
                           std::isfinite(is) ? std::fabs(is - should) / heads.scale / 4 : INFINITY);
        continue;
      }
      const int count = heads.actions.counts[k];
      furthest = std::max(furthest, Distance(count, row, before[i].Uniform(), word));
      row += count;
    }
  }
  trial.Note(furthest, kBoundary, "values");
  trial.Note(largest, kDraw, "coordinates");
}

void ExpectLoss(Trial& trial, const Heads& heads, Floats& dlogits, Floats& dvalues,
                Twin<LossReport>& report) {
  trial.Expect(dlogits, "dlogits", kSums, 1.0 / heads.n);
  trial.Expect(dvalues, "dvalues", kSteps, 1.0 / heads.n);
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

void A2cLoss(Trial& trial, const Heads& heads) {
  trial.Begin(heads.Name());
  const int n = heads.n;
  Shapes shapes(trial, heads.actions);
  Floats logits = Logits(trial, heads), values = trial.Noise(n), advantages = trial.Noise(n);
  Floats returns = trial.Noise(n), dlogits = trial.Noise(n * heads.actions.outputs());
  Floats dvalues = trial.Noise(n);
  auto taken = Actions(trial, heads.actions, n);
  auto weights =
      trial.Same(std::vector{LossWeights{.value_coef = 0.4, .entropy = 0.02, .scale = 3}});
  auto report = trial.Same(std::vector{LossReport{7, 7, 7}});
  trial.Both([&](auto& backend, auto of) {
    backend.Loss(
        {.n = n,
         .policy = shapes.At(of),
         .logits = of(logits),
         .values = of(values),
         .samples = {.taken = of(taken), .advantages = of(advantages), .returns = of(returns)},
         .weights = of(weights),
         .dlogits = of(dlogits),
         .dvalues = of(dvalues),
         .report = of(report)});
  });
  ExpectLoss(trial, heads, dlogits, dvalues, report);
}

// A minibatch of PPO: rows of a larger unroll, normalised advantages, three policies. No ratio
// lies so near to the clip that rounding decides.
void PpoLoss(Trial& trial, const Heads& heads, double value_clip) {
  trial.Begin(heads.Name() + (value_clip > 0 ? " of PPO, values clipped" : " of PPO"));
  const int n = heads.n, all = n + 7;
  Shapes shapes(trial, heads.actions);
  Floats logits = Logits(trial, heads), values = trial.Noise(n), advantages = trial.Noise(all);
  Floats returns = trial.Noise(all), old_values = trial.Noise(all);
  Floats dlogits = trial.Noise(n * heads.actions.outputs()), dvalues = trial.Noise(n);
  auto taken = Actions(trial, heads.actions, all);
  auto rows = trial.Same(Shuffled(trial, n, all));
  auto weights = trial.Same(std::vector{LossWeights{
      .value_coef = 0.4, .entropy = 0.02, .scale = 3, .clip = 0.2, .value_clip = value_clip}});
  auto moments = trial.Same(std::vector{Moments{0.125, 0.75}});
  auto report = trial.Same(std::vector{LossReport{7, 7, 7, 7, 7}});
  Floats now = trial.Noise(all);
  trial.Reference([&](auto& backend, auto of) {
    backend.LogProbs({.n = n,
                      .policy = shapes.At(of),
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
                  .policy = shapes.At(of),
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
  ExpectLoss(trial, heads, dlogits, dvalues, report);
}

}  // namespace

void SampleActions(Trial& trial) {
  for (const Heads& heads :
       {Heads{1, Choice(1)}, Heads{1, Choice(6)}, Heads{300, Choice(3)}, Heads{77, Choice(18)},
        Heads{16, Choice(6), 1e30f}, Heads{33, Choice(5), 60}, Heads{5000, Choice(4)},
        Heads{300, kThree}, Heads{1, Box(1)}, Heads{300, Box(6), 1}}) {
    trial.Begin(heads.Name());
    Shapes shapes(trial, heads.actions);
    Floats logits = Logits(trial, heads);
    auto streams = Streams(trial, heads.n);
    const std::vector<RandomStream> before = streams.exact;
    auto taken = trial.Same(
        std::vector<std::int32_t>(static_cast<std::size_t>(heads.n * heads.actions.width()), -7));
    trial.Both([&](auto& backend, auto of) {
      backend.SampleActions({.n = heads.n,
                             .policy = shapes.At(of),
                             .logits = of(logits),
                             .streams = of(streams),
                             .taken = of(taken)});
    });
    ExpectDraws(trial, heads, logits, before, taken);
    trial.ExpectEqual(streams, "streams");
  }
  // A valid action is taken even if logits are not finite.
  trial.Begin("logits that are no numbers");
  Floats logits = trial.Given(std::vector<float>{NAN, 0, 1, INFINITY, 0, 2, 1, NAN, NAN});
  auto streams = Streams(trial, 3);
  auto taken = trial.Same(std::vector<std::int32_t>(3, -7));
  trial.Both([&](auto& backend, auto of) {
    backend.SampleActions({.n = 3,
                           .policy = OneChoice(3),
                           .logits = of(logits),
                           .streams = of(streams),
                           .taken = of(taken)});
  });
  for (const std::int32_t action : taken.Read().values) {
    trial.Note(action >= 0 && action < 3 ? 0 : INFINITY, kBoundary, "values");
  }
}

void Loss(Trial& trial) {
  const ActionSpace tanh = Box(3, ActionBounds::kTanh);
  for (const Heads& heads :
       {Heads{1, Choice(1)}, Heads{1, Choice(6)}, Heads{300, Choice(3)}, Heads{77, Choice(18)},
        Heads{20, Choice(6)}, Heads{33, Choice(5), 1e4f}, Heads{320, Choice(4)},
        Heads{kMany, Choice(3)}, Heads{300, kThree}, Heads{300, Box(6), 1}, Heads{77, tanh, 1}}) {
    A2cLoss(trial, heads);
  }
  for (const Heads& heads : {Heads{1, Choice(1)}, Heads{1, Choice(6)}, Heads{300, Choice(3)},
                             Heads{77, Choice(18)}, Heads{5000, Choice(4)}, Heads{300, kThree},
                             Heads{300, Box(2), 0.5f}, Heads{300, tanh, 0.5f}}) {
    for (const double value_clip : {0.0, 0.3}) PpoLoss(trial, heads, value_clip);
  }
}

void LogProbs(Trial& trial) {
  for (const Heads& heads :
       {Heads{1, Choice(1)}, Heads{300, Choice(3)}, Heads{77, Choice(18)}, Heads{33, Choice(5), 60},
        Heads{300, kThree}, Heads{300, Box(6), 1}, Heads{77, Box(2, ActionBounds::kTanh), 1}}) {
    for (const bool whole : {true, false}) {
      trial.Begin(heads.Name() + (whole ? "" : ", rows"));
      Shapes shapes(trial, heads.actions);
      Floats logits = Logits(trial, heads), logps = trial.Noise(heads.n);
      auto taken = Actions(trial, heads.actions, heads.n);
      auto rows = trial.Same(Shuffled(trial, heads.n, heads.n));
      trial.Both([&](auto& backend, auto of) {
        backend.LogProbs({.n = heads.n,
                          .policy = shapes.At(of),
                          .logits = of(logits),
                          .rows = of(whole ? nullptr : &rows),
                          .taken = of(taken),
                          .logps = of(logps)});
      });
      trial.Expect(logps, "log probabilities", kSteps, heads.scale);
    }
  }
}

}  // namespace starling::net::checks
