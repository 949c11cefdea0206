// Checks of activations, layer norm, cells of LSTMs and GRUs, and their state.
#include <cmath>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

// Rounding contributes 6e-8 per operation, exp 2e-7.
constexpr double kSteps = 3e-6, kLongSums = 3e-5;
constexpr int kMany = 100'003;

constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu, Activation::kTanh};

struct Rows {
  int width, n;
  std::string Name() const { return fmt::format("width {}, {} samples", width, n); }
  int size() const { return width * n; }
};

}  // namespace

void Activate(Trial& trial) {
  for (const int count : {1, 16, 100, 1000, kMany}) {
    for (const Activation activation : kActivations) {
      trial.Begin(fmt::format("{} numbers", count));
      std::vector<float> values(count);
      for (float& value : values) value = 6 * trial.random().Normal();
      if (count > 2) values[1] = NAN;
      Floats x = trial.Given(values), y = trial.Noise(count);
      trial.Both(
          [&](auto& backend, auto of) { backend.Activate(activation, count, of(x), of(y)); });
      trial.Expect(y, "y", kSteps);
    }
  }
}

void ActivateBackward(Trial& trial) {
  for (const int count : {1, 16, 100, 1000, kMany}) {
    for (const Activation activation : kActivations) {
      trial.Begin(fmt::format("{} numbers", count));
      Floats y = trial.Mask(count), dy = trial.Noise(count), mask = trial.Mask(count);
      // Without a relu below, and with one.
      for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
        Floats dx = trial.Noise(count);
        trial.Both([&](auto& backend, auto of) {
          backend.ActivateBackward({.activation = activation,
                                    .count = count,
                                    .y = of(y),
                                    .dy = of(dy),
                                    .relu_output = of(relu_output),
                                    .dx = of(dx)});
        });
        trial.Expect(dx, "dx", kSteps, 1);
      }
    }
  }
}

void LayerNormForward(Trial& trial) {
  for (const Rows& rows : {Rows{5, 1}, Rows{16, 30}, Rows{48, 7}, Rows{77, 300}, Rows{1024, 5},
                           Rows{33, 3}, Rows{256, 64}, Rows{7, 70'001}}) {
    trial.Begin(rows.Name());
    Floats x = trial.Noise(rows.size());
    Floats scale = trial.Weights(rows.width), bias = trial.Weights(rows.width);
    // These two are fused into the op; a tanh never is.
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      Floats moments = trial.Noise(2 * rows.n), y = trial.Noise(rows.size());
      trial.Both([&](auto& backend, auto of) {
        backend.LayerNormForward({.width = rows.width,
                                  .n = rows.n,
                                  .x = of(x),
                                  .scale = of(scale),
                                  .bias = of(bias),
                                  .activation = activation,
                                  .moments = of(moments),
                                  .y = of(y)});
      });
      trial.Expect(moments, "moments", kSteps, 1);
      trial.Expect(y, "y", kSteps, 1);
    }
  }
}

void LayerNormBackward(Trial& trial) {
  for (const Rows& rows : {Rows{5, 1}, Rows{16, 30}, Rows{48, 7}, Rows{77, 300}, Rows{1024, 5},
                           Rows{33, 3}, Rows{256, 64}, Rows{3, kMany}}) {
    trial.Begin(rows.Name());
    // 1. The inputs, with the moments of the reference.
    Floats x = trial.Noise(rows.size()), scale = trial.Weights(rows.width);
    Floats dy = trial.Noise(rows.size()), mask = trial.Mask(rows.size());
    Floats unused = trial.Noise(2 * rows.n), y = trial.Noise(rows.size());
    trial.Reference([&](auto& reference, auto of) {
      reference.LayerNormForward({.width = rows.width,
                                  .n = rows.n,
                                  .x = of(x),
                                  .scale = of(scale),
                                  .bias = of(scale),
                                  .moments = of(unused),
                                  .y = of(y)});
    });
    Floats moments = trial.Rounded(unused.exact);
    // 2. Without dx, as in a first layer, then with it. The large case skips the second and third.
    const double tolerance = rows.n > 1000 ? kLongSums : kSteps;
    const auto compare = [&](Floats* relu_output, Floats* dx) {
      Floats dscale = trial.Weights(rows.width), dbias = trial.Weights(rows.width);
      trial.Both([&](auto& backend, auto of) {
        backend.LayerNormBackward({.width = rows.width,
                                   .n = rows.n,
                                   .x = of(x),
                                   .scale = of(scale),
                                   .moments = of(moments),
                                   .dy = of(dy),
                                   .relu_output = of(relu_output),
                                   .dscale = of(dscale),
                                   .dbias = of(dbias),
                                   .dx = of(dx)});
      });
      trial.Expect(dscale, "dscale", tolerance, std::sqrt(rows.n));
      trial.Expect(dbias, "dbias", tolerance, std::sqrt(rows.n));
    };
    compare(nullptr, nullptr);
    if (rows.n > 1000) continue;
    for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
      Floats dx = trial.Noise(rows.size());
      compare(relu_output, &dx);
      trial.Expect(dx, "dx", kSteps, 1);
    }
    // 3. dx alone, as in a stage.
    Floats dx = trial.Noise(rows.size());
    trial.Both([&](auto& backend, auto of) {
      backend.LayerNormBackward({.width = rows.width,
                                 .n = rows.n,
                                 .x = of(x),
                                 .scale = of(scale),
                                 .moments = of(moments),
                                 .dy = of(dy),
                                 .dscale = nullptr,
                                 .dbias = nullptr,
                                 .dx = of(dx)});
    });
    trial.Expect(dx, "dx alone", kSteps, 1);
  }
}

namespace {

constexpr Rows kCells[] = {{1, 1}, {16, 9}, {17, 1}, {64, 30}, {128, 5}, {3, 300}, {1, 70'001}};

}  // namespace

void LstmCellForward(Trial& trial) {
  for (const Rows& cells : kCells) {
    trial.Begin(cells.Name());
    // The op replaces these sums by the gates.
    std::vector<float> sums(4 * cells.size());
    for (float& sum : sums) sum = 4 * (2 * trial.random().Uniform() - 1);
    Floats gates = trial.Given(sums), c_in = trial.Noise(cells.size());
    Floats c = trial.Noise(cells.size()), h = trial.Noise(cells.size());
    trial.Both([&](auto& backend, auto of) {
      backend.LstmCellForward({.hidden = cells.width,
                               .n = cells.n,
                               .gates = of(gates),
                               .c_in = of(c_in),
                               .c = of(c),
                               .h = of(h)});
    });
    trial.Expect(gates, "gates", kSteps, 1);
    trial.Expect(c, "c", kSteps, 1);
    trial.Expect(h, "h", kSteps, 1);
  }
}

void LstmCellBackward(Trial& trial) {
  for (const Rows& cells : kCells) {
    trial.Begin(cells.Name());
    // The gates and cells are those that the reference computes from random sums.
    const int size = cells.size();
    Floats sums = trial.Noise(4 * size), c_in = trial.Noise(size);
    Floats unused_c = trial.Noise(size), unused_h = trial.Noise(size);
    trial.Reference([&](auto& reference, auto of) {
      reference.LstmCellForward({.hidden = cells.width,
                                 .n = cells.n,
                                 .gates = of(sums),
                                 .c_in = of(c_in),
                                 .c = of(unused_c),
                                 .h = of(unused_h)});
    });
    Floats gates = trial.Rounded(sums.exact), c = trial.Rounded(unused_c.exact);
    Floats dy = trial.Noise(size), dh = trial.Noise(size);
    Floats dc = trial.Noise(size), dgates = trial.Noise(4 * size);
    trial.Both([&](auto& backend, auto of) {
      backend.LstmCellBackward({.hidden = cells.width,
                                .n = cells.n,
                                .gates = of(gates),
                                .c_in = of(c_in),
                                .c = of(c),
                                .dy = of(dy),
                                .dh = of(dh),
                                .dc = of(dc),
                                .dgates = of(dgates)});
    });
    trial.Expect(dc, "dc", kSteps, 1);
    trial.Expect(dgates, "dgates", kSteps, 1);
  }
}

void GruCellForward(Trial& trial) {
  for (const Rows& cells : kCells) {
    trial.Begin(cells.Name());
    // The op replaces these sums by the gates.
    std::vector<float> sums(3 * cells.size());
    for (float& sum : sums) sum = 4 * (2 * trial.random().Uniform() - 1);
    Floats gates = trial.Given(sums), from_h = trial.Noise(3 * cells.size());
    Floats h_in = trial.Noise(cells.size()), h = trial.Noise(cells.size());
    trial.Both([&](auto& backend, auto of) {
      backend.GruCellForward({.hidden = cells.width,
                              .n = cells.n,
                              .gates = of(gates),
                              .from_h = of(from_h),
                              .h_in = of(h_in),
                              .h = of(h)});
    });
    trial.Expect(gates, "gates", kSteps, 1);
    trial.Expect(h, "h", kSteps, 1);
  }
}

void GruCellBackward(Trial& trial) {
  for (const Rows& cells : kCells) {
    trial.Begin(cells.Name());
    // The gates are those that the reference computes from random sums.
    const int size = cells.size();
    Floats sums = trial.Noise(3 * size), from_h = trial.Noise(3 * size);
    Floats h_in = trial.Noise(size), unused_h = trial.Noise(size);
    trial.Reference([&](auto& reference, auto of) {
      reference.GruCellForward({.hidden = cells.width,
                                .n = cells.n,
                                .gates = of(sums),
                                .from_h = of(from_h),
                                .h_in = of(h_in),
                                .h = of(unused_h)});
    });
    Floats gates = trial.Rounded(sums.exact), dy = trial.Noise(size), dh = trial.Noise(size);
    Floats dx_sums = trial.Noise(3 * size), dh_sums = trial.Noise(3 * size);
    trial.Both([&](auto& backend, auto of) {
      backend.GruCellBackward({.hidden = cells.width,
                               .n = cells.n,
                               .gates = of(gates),
                               .from_h = of(from_h),
                               .h_in = of(h_in),
                               .dy = of(dy),
                               .dh = of(dh),
                               .dx_sums = of(dx_sums),
                               .dh_sums = of(dh_sums)});
    });
    trial.Expect(dh, "dh", kSteps, 1);
    trial.Expect(dx_sums, "dx_sums", kSteps, 1);
    trial.Expect(dh_sums, "dh_sums", kSteps, 1);
  }
}

void KeepState(Trial& trial) {
  for (const Rows& rows : {Rows{1, 1}, Rows{2, 4}, Rows{17, 33}, Rows{256, 5}, Rows{1, 70'001}}) {
    trial.Begin(rows.Name());
    std::vector<std::uint8_t> reset(rows.n);
    for (std::uint8_t& r : reset) r = static_cast<std::uint8_t>(trial.random().Below(3));
    auto resets = trial.Same(reset);
    Floats from = trial.Noise(rows.size()), to = trial.Noise(rows.size());
    trial.Both([&](auto& backend, auto of) {
      backend.KeepState(rows.width, rows.n, of(resets), of(from), of(to));
    });
    trial.Expect(to, "another array", 0);
    trial.Both([&](auto& backend, auto of) {
      backend.KeepState(rows.width, rows.n, of(resets), of(from), of(from));
    });
    trial.Expect(from, "the same array", 0);
  }
}

}  // namespace starling::net::checks
