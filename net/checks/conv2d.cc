// Checks of convolutions.
#include <cmath>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

// Tolerances as for linear layers. The gradients of weights sum over the cells of all samples.
constexpr double kSums = 3e-6, kOverCells = 1e-5, kLongSums = 3e-5;
constexpr int kMany = 70'001;  // samples: more than the second dimension of a CUDA grid holds

struct Case {
  ConvShape shape;
  int n = 1;
  double density = 1;
  bool one_colour = false;  // but for a line in twenty
  std::string Name() const {
    const ConvShape& s = shape;
    return fmt::format("{}x{}x{} by {}x{} / {} to {}, {} samples{}", s.height, s.width,
                       s.in_channels, s.kernel_height, s.kernel_width, s.stride, s.out_channels, n,
                       one_colour ? " of one colour" : "");
  }
  int inputs() const { return n * shape.in_size(); }
  int outputs() const { return n * shape.out_size(); }
  int cells() const { return n * shape.out_cells(); }
  double over_cells() const { return cells() > 10'000 ? kLongSums : kOverCells; }
};

ConvShape RandomShape(Trial& trial) {
  ConvShape s;
  s.kernel_height = trial.Between(1, 4);
  s.kernel_width = trial.Between(1, 4);
  s.height = trial.Between(s.kernel_height, 12);
  s.width = trial.Between(s.kernel_width, 12);
  s.stride = trial.Between(1, 3);
  s.in_channels = trial.Between(1, 6);
  s.out_channels = trial.Between(1, 40);
  return s;
}

std::vector<Case> Cases(Trial& trial) {
  std::vector<Case> cases = {
      // MinAtar, and Atari by two nets.
      {{10, 10, 4, 3, 3, 1, 16}, 1, 0.1},
      {{10, 10, 4, 3, 3, 1, 16}, 20, 0.1},
      {{10, 10, 7, 3, 3, 1, 16}, 3, 0.3},
      {{10, 10, 10, 3, 3, 1, 16}, 5, 0.03},
      {{84, 84, 4, 8, 8, 4, 16}, 1, 1},
      {{84, 84, 4, 8, 8, 4, 16}, 3, 1, true},
      {{33, 41, 3, 5, 5, 2, 64}, 2, 1, true},
      {{20, 20, 16, 4, 4, 2, 32}, 2, 0.5},
      {{20, 20, 32, 4, 4, 2, 64}, 1, 1},
      {{9, 9, 64, 3, 3, 1, 64}, 1, 0.5},
      // Odd shapes: a kernel as large as the picture, cells outside all kernels, one of everything.
      {{13, 31, 3, 2, 5, 1, 17}, 2, 1},
      {{5, 5, 2, 5, 5, 1, 16}, 3, 1},
      {{11, 7, 3, 2, 1, 3, 5}, 4, 1},
      {{1, 1, 1, 1, 1, 1, 1}, 1, 1},
      {{6, 6, 2, 3, 3, 1, 16}, 200, 0.2},
      {{2, 2, 1, 2, 2, 1, 3}, kMany, 1},
      // Few outputs, and cells that fill no whole number of a GPU's threads.
      {{5, 3, 4, 3, 3, 1, 16}, 3, 1},
      {{3, 3, 8, 3, 3, 1, 32}, 5, 0.5},
      // So many cells that a thread of a GPU takes several.
      {{2, 2, 4, 2, 2, 1, 16}, 270'001, 1},
  };
  for (int i = 0; i < 8; ++i) {
    cases.push_back({RandomShape(trial), trial.Between(1, 9), i % 2 == 0 ? 1.0 : 0.2});
  }
  return cases;
}

Floats Inputs(Trial& trial, const Case& c) {
  if (!c.one_colour) return trial.Sparse(c.inputs(), c.density);
  std::vector<float> x(c.inputs(), 0.5f);
  const int line = c.shape.width * c.shape.in_channels;
  for (int i = 0; i < c.inputs(); ++i) {
    if (i / line % 20 == 7) x[i] = static_cast<float>(trial.Between(-100, 100)) / 100;
  }
  return trial.Given(x);
}

}  // namespace

void ConvForward(Trial& trial) {
  bool odd = false;
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats x = Inputs(trial, c), w = trial.Weights(c.shape.num_weights());
    std::vector<float> bias(c.shape.out_channels, 0.75f);
    odd = !odd;
    if (odd) bias.back() = NAN;  // a relu must not hide a NaN
    Floats b = trial.Biases(bias), y = trial.Noise(c.outputs()), y_relu = trial.Noise(c.outputs());
    trial.Both([&](auto& backend, auto of) {
      backend.ConvForward(
          {.shape = c.shape, .n = c.n, .x = of(x), .w = of(w), .b = of(b), .y = of(y)});
      backend.ConvForward({.shape = c.shape,
                           .n = c.n,
                           .x = of(x),
                           .w = of(w),
                           .b = of(b),
                           .activation = Activation::kRelu,
                           .y = of(y_relu)});
    });
    trial.ExpectProducts(y, "y", kSums, c.shape.patch());
    trial.ExpectProducts(y_relu, "y behind a relu", kSums, c.shape.patch());
  }
}

void ConvBackwardWeights(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats x = Inputs(trial, c), dy = trial.Noise(c.outputs());
    Floats dw = trial.Weights(c.shape.num_weights()), db = trial.Weights(c.shape.out_channels);
    trial.Both([&](auto& backend, auto of) {
      backend.ConvBackwardWeights(
          {.shape = c.shape, .n = c.n, .x = of(x), .dy = of(dy), .dw = of(dw), .db = of(db)});
    });
    trial.ExpectProducts(dw, "dw", c.over_cells(), c.cells());
    trial.Expect(db, "db", c.over_cells(), std::sqrt(c.cells()));
  }
}

void ConvBackwardInput(Trial& trial) {
  for (const Case& c : Cases(trial)) {
    trial.Begin(c.Name());
    Floats w = trial.Weights(c.shape.num_weights()), dy = trial.Noise(c.outputs());
    Floats mask = trial.Mask(c.inputs());
    // Without a relu below, and with one.
    for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
      Floats dx = trial.Noise(c.inputs());
      trial.Both([&](auto& backend, auto of) {
        backend.ConvBackwardInput({.shape = c.shape,
                                   .n = c.n,
                                   .w = of(w),
                                   .dy = of(dy),
                                   .relu_output = of(relu_output),
                                   .dx = of(dx)});
      });
      const char* const what = relu_output != nullptr ? "masked dx" : "dx";
      trial.ExpectProducts(dx, what, kSums, c.shape.out_channels);
    }
  }
}

}  // namespace starling::net::checks
