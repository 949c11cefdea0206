// Checks of fully connected layers.
#include <cmath>
#include <optional>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

// Sums round by 6e-8 per term; most of these errors cancel. The longest sums are over samples.
constexpr double kSums = 3e-6, kLongSums = 3e-5;
constexpr int kMany = 100'003;  // rows: more than the second dimension of a CUDA grid holds

struct Case {
  LinearShape shape;
  int n = 1;
  int at = 0;  // position in the list
  std::string Name() const { return fmt::format("{}x{}, {} samples", shape.in, shape.out, n); }
  int inputs() const { return n * shape.in; }
  int outputs() const { return n * shape.out; }
  int weights() const { return shape.in * shape.out; }
  double over_samples() const { return n > 1000 ? kLongSums : kSums; }
  bool odd() const { return at % 2 == 1; }
  double density() const { return at % 3 == 0 ? 1.0 : at % 3 == 1 ? 0.5 : 0.1; }
};

std::vector<Case> Cases(Trial& trial) {
  std::vector<Case> cases = {
      {{1024, 128}, 1}, {{1024, 128}, 7}, {{1024, 128}, 20}, {{2592, 256}, 2}, {{128, 6}, 64},
      {{128, 1}, 64},   {{128, 6}, 1},    {{256, 128}, 33},  {{128, 128}, 5},  {{256, 512}, 4},
      {{40, 17}, 300},  {{97, 211}, 5},   {{1, 1}, 1},       {{16, 16}, 16},   {{3, 5}, kMany},
  };
  for (int i = 0; i < 8; ++i) {
    cases.push_back({{trial.Between(1, 150), trial.Between(1, 150)}, trial.Between(1, 67)});
  }
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].at = static_cast<int>(i);
  return cases;
}

// Runs `ops` on both backends; in every second case the weights are held meanwhile.
template <class Ops>
void BothHeld(Trial& trial, const Case& c, Ops ops) {
  std::optional<HeldWeights<float>> held;
  if (c.odd()) held.emplace(trial.backend());
  trial.Both(ops);
}

void ExpectBackward(Trial& trial, const Case& c, Floats& dw, Floats& db) {
  trial.ExpectProducts(dw, "dw", c.over_samples(), c.n);
  trial.Expect(db, "db", c.over_samples(), std::sqrt(c.n));
}

}  // namespace

void LinearForward(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats x = trial.Sparse(c.inputs(), c.density()), w = trial.Weights(c.weights());
    std::vector<float> bias(c.shape.out, 0.75f);
    if (c.odd()) bias.back() = NAN;  // a relu must not hide a NaN
    Floats b = trial.Biases(bias), y = trial.Noise(c.outputs()), y_relu = trial.Noise(c.outputs());
    BothHeld(trial, c, [&](auto& backend, auto of) {
      backend.LinearForward(
          {.shape = c.shape, .n = c.n, .x = of(x), .w = of(w), .b = of(b), .y = of(y)});
      backend.LinearForward({.shape = c.shape,
                             .n = c.n,
                             .x = of(x),
                             .w = of(w),
                             .b = of(b),
                             .activation = Activation::kRelu,
                             .y = of(y_relu)});
    });
    trial.ExpectProducts(y, "y", kSums, c.shape.in);
    trial.ExpectProducts(y_relu, "y behind a relu", kSums, c.shape.in);
  }
}

void LinearAccumulate(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats x = trial.Sparse(c.inputs(), c.density()), w = trial.Weights(c.weights());
    Floats y = trial.Noise(c.outputs());
    BothHeld(trial, c, [&](auto& backend, auto of) {
      backend.LinearAccumulate(c.shape, c.n, of(x), of(w), of(y));
    });
    trial.ExpectProducts(y, "y", kSums, c.shape.in);
  }
}

void LinearBackwardWeights(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats x = trial.Sparse(c.inputs(), c.density()), dy = trial.Noise(c.outputs());
    Floats dw = trial.Weights(c.weights()), db = trial.Weights(c.shape.out);
    trial.Both([&](auto& backend, auto of) {
      backend.LinearBackwardWeights(
          {.shape = c.shape, .n = c.n, .x = of(x), .dy = of(dy), .dw = of(dw), .db = of(db)});
    });
    ExpectBackward(trial, c, dw, db);
  }
}

void LinearBackwardInput(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats w = trial.Weights(c.weights()), dy = trial.Noise(c.outputs());
    Floats mask = trial.Mask(c.inputs());
    // Large cases run with or without the mask, not both, to save time.
    const bool small = c.inputs() * c.shape.out < 1'000'000;
    for (const bool masked : {false, true}) {
      Floats* const relu_output = masked ? &mask : nullptr;
      for (const Put put : {Put::kReplace, Put::kAdd}) {
        if (!small && masked != c.odd()) continue;
        Floats dx = trial.Noise(c.inputs());
        BothHeld(trial, c, [&](auto& backend, auto of) {
          backend.LinearBackwardInput({.shape = c.shape,
                                       .n = c.n,
                                       .w = of(w),
                                       .dy = of(dy),
                                       .put = put,
                                       .relu_output = of(relu_output),
                                       .dx = of(dx)});
        });
        trial.ExpectProducts(dx, put == Put::kAdd ? "dx added to" : "dx", kSums, c.shape.out);
      }
    }
  }
}

void LinearBackward(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    // x is the output of a relu, and so the mask of dx.
    Floats x = trial.Sparse(c.inputs(), c.density()), w = trial.Weights(c.weights());
    Floats dy = trial.Noise(c.outputs()), dw = trial.Weights(c.weights());
    Floats db = trial.Weights(c.shape.out), dx = trial.Noise(c.inputs());
    BothHeld(trial, c, [&](auto& backend, auto of) {
      backend.LinearBackward({.shape = c.shape,
                              .n = c.n,
                              .x = of(x),
                              .w = of(w),
                              .dy = of(dy),
                              .dw = of(dw),
                              .db = of(db),
                              .dx = of(dx)});
    });
    ExpectBackward(trial, c, dw, db);
    trial.ExpectProducts(dx, "dx", kSums, c.shape.out);
  }
}

}  // namespace starling::net::checks
