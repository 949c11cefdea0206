// Checks of the ops around convolutions.
#include <cmath>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kOneSum = 1e-6;
constexpr int kManyPictures = 70'001;

struct PadCase {
  PadShape shape;
  int n = 1;
  std::string Name() const {
    const PadShape& s = shape;
    return fmt::format("{}x{}x{} with {}, {}, {} and {} around, {} samples", s.height, s.width,
                       s.channels, s.top, s.bottom, s.left, s.right, n);
  }
};

// Height, width, channels; top, bottom, left, right.
constexpr PadCase kPads[] = {
    {{42, 42, 16, 1, 1, 1, 1}, 2}, {{11, 11, 32, 1, 1, 1, 1}, 5},
    {{1, 1, 1, 0, 1, 2, 3}, 4},    {{5, 7, 3, 0, 1, 0, 2}, 3},
    {{4, 6, 2, 0, 0, 0, 0}, 2},    {{2, 1, 1, 1, 0, 0, 1}, kManyPictures},
};

struct PoolCase {
  PoolShape shape;
  int n = 1;
  std::string Name() const {
    const PoolShape& s = shape;
    return fmt::format("{}x{}x{} in windows of {}x{} / {} from {}, {} outside, {} samples",
                       s.height, s.width, s.channels, s.kernel_height, s.kernel_width, s.stride,
                       s.top, s.left, n);
  }
};

// Height, width, channels; kernel and stride; top, left; the output's height and width.
constexpr PoolCase kPools[] = {
    {{84, 84, 16, 3, 3, 2, 0, 0, 42, 42}, 1},
    {{21, 21, 32, 3, 3, 2, 1, 1, 11, 11}, 4},
    {{5, 4, 3, 2, 2, 2, 0, 0, 2, 2}, 9},
    {{7, 6, 2, 3, 2, 1, 1, 0, 7, 6}, 3},
    {{9, 9, 1, 2, 2, 4, 0, 0, 3, 3}, 2},
    {{1, 1, 5, 3, 3, 1, 1, 1, 1, 1}, 7},
    {{3, 2, 1, 2, 2, 1, 0, 0, 2, 1}, kManyPictures},
};

// Like the output of a relu in part, so that windows hold equal cells.
Floats Cells(Trial& trial, int count) { return trial.Mask(count); }

}  // namespace

void Pad(Trial& trial) {
  for (const PadCase& c : kPads) {
    trial.Begin(c.Name());
    Floats x = trial.Noise(c.n * c.shape.size());
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      Floats y = trial.Noise(c.n * c.shape.padded_size());
      trial.Both([&](auto& backend, auto of) {
        backend.Pad({.shape = c.shape, .n = c.n, .x = of(x), .activation = activation, .y = of(y)});
      });
      trial.Expect(y, "y", 0);
    }
  }
}

void Crop(Trial& trial) {
  for (const PadCase& c : kPads) {
    trial.Begin(c.Name());
    Floats dy = trial.Noise(c.n * c.shape.padded_size()), mask = trial.Mask(c.n * c.shape.size());
    for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
      Floats dx = trial.Noise(c.n * c.shape.size());
      trial.Both([&](auto& backend, auto of) {
        backend.Crop({.shape = c.shape,
                      .n = c.n,
                      .dy = of(dy),
                      .relu_output = of(relu_output),
                      .dx = of(dx)});
      });
      trial.Expect(dx, "dx", 0);
    }
  }
}

void MaxPoolForward(Trial& trial) {
  for (const PoolCase& c : kPools) {
    trial.Begin(c.Name());
    const int out = c.n * c.shape.out_size();
    Floats x = Cells(trial, c.n * c.shape.size()), y = trial.Noise(out);
    auto taken = trial.Same(std::vector<std::int32_t>(static_cast<std::size_t>(out), -1));
    trial.Both([&](auto& backend, auto of) {
      backend.MaxPoolForward(
          {.shape = c.shape, .n = c.n, .x = of(x), .y = of(y), .taken = of(taken)});
    });
    trial.Expect(y, "y", 0);
    trial.ExpectEqual(taken, "taken");
  }
}

void MaxPoolBackward(Trial& trial) {
  for (const PoolCase& c : kPools) {
    trial.Begin(c.Name());
    // Taken from where the reference takes the largest.
    const int size = c.n * c.shape.size(), out = c.n * c.shape.out_size();
    Floats x = Cells(trial, size), y = trial.Noise(out);
    auto largest = trial.Same(std::vector<std::int32_t>(static_cast<std::size_t>(out)));
    trial.Reference([&](auto& reference, auto of) {
      reference.MaxPoolForward(
          {.shape = c.shape, .n = c.n, .x = of(x), .y = of(y), .taken = of(largest)});
    });
    auto taken = trial.Same(largest.exact);
    Floats dy = trial.Noise(out), mask = trial.Mask(size);
    for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
      Floats dx = trial.Noise(size);
      trial.Both([&](auto& backend, auto of) {
        backend.MaxPoolBackward({.shape = c.shape,
                                 .n = c.n,
                                 .dy = of(dy),
                                 .taken = of(taken),
                                 .relu_output = of(relu_output),
                                 .dx = of(dx)});
      });
      trial.Expect(dx, "dx", kOneSum, 1);
    }
  }
}

void Add(Trial& trial) {
  for (const int count : {1, 16, 100, 1003, 100'003}) {
    trial.Begin(fmt::format("{} numbers", count));
    Floats a = trial.Noise(count), b = trial.Noise(count), mask = trial.Mask(count);
    for (Floats* const relu_output : {static_cast<Floats*>(nullptr), &mask}) {
      Floats y = trial.Noise(count);
      trial.Both([&](auto& backend, auto of) {
        backend.Add(
            {.count = count, .a = of(a), .b = of(b), .relu_output = of(relu_output), .y = of(y)});
      });
      trial.Expect(y, "y", kOneSum, 1);
    }
    // The sum in the place of a term.
    trial.Both([&](auto& backend, auto of) {
      backend.Add({.count = count, .a = of(a), .b = of(b), .y = of(a)});
    });
    trial.Expect(a, "the first term", kOneSum, 1);
  }
}

}  // namespace starling::net::checks
