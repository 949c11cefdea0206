// Checks of two fully connected layers of one x. A GPU has own bodies for few outputs of the first
// and one of the second.
#include <cmath>
#include <type_traits>
#include <utility>

#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kSums = 3e-6, kLongSums = 3e-5;
constexpr int kMany = 100'003;  // rows

struct Pair {
  int in, first_out, second_out;
  int n = 1;
  int at = 0;  // position in the list
  LinearShape first() const { return {in, first_out}; }
  LinearShape second() const { return {in, second_out}; }
  std::string Name() const {
    return fmt::format("{}x({} and {}), {} samples", in, first_out, second_out, n);
  }
  bool odd() const { return at % 2 == 1; }
  double over_samples() const { return n > 1000 ? kLongSums : kSums; }
};

std::vector<Pair> Pairs(Trial& trial) {
  std::vector<Pair> cases = {
      {128, 6, 1, 64}, {128, 6, 1, 1}, {128, 3, 1, 63},  {256, 18, 1, 9},  {40, 8, 1, 301},
      {40, 8, 2, 7},   {1, 1, 1, 1},   {3, 5, 1, kMany}, {2, 4, 1, kMany}, {512, 7, 1, 2050},
  };
  for (int i = 0; i < 8; ++i) {
    cases.push_back({trial.Between(1, 150), trial.Between(1, 9), 1, trial.Between(1, 67)});
  }
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].at = static_cast<int>(i);
  return cases;
}

}  // namespace

void PairForward(Trial& trial) {
  for (const Pair& c : Pairs(trial)) {
    trial.Begin(c.Name());
    const auto [one, other] = c.odd() ? std::pair(Activation::kRelu, Activation::kNone)
                                      : std::pair(Activation::kNone, Activation::kRelu);
    Floats x = trial.Sparse(c.n * c.in, 0.5);
    Floats w1 = trial.Weights(c.in * c.first_out), w2 = trial.Weights(c.in * c.second_out);
    std::vector<float> bias(c.first_out, 0.75f);
    if (c.odd()) bias.back() = NAN;  // a relu must not hide a NaN
    Floats b1 = trial.Biases(bias), b2 = trial.Weights(c.second_out);
    Floats y1 = trial.Noise(c.n * c.first_out), y2 = trial.Noise(c.n * c.second_out);
    trial.Both([&](auto& backend, auto of) {
      backend.PairForward({.shape = c.first(),
                           .n = c.n,
                           .x = of(x),
                           .w = of(w1),
                           .b = of(b1),
                           .activation = one,
                           .y = of(y1)},
                          {.shape = c.second(),
                           .n = c.n,
                           .x = of(x),
                           .w = of(w2),
                           .b = of(b2),
                           .activation = other,
                           .y = of(y2)});
    });
    trial.ExpectProducts(y1, "the first y", kSums, c.in);
    trial.ExpectProducts(y2, "the second y", kSums, c.in);
  }
}

void PairBackwardWeights(Trial& trial) {
  for (const Pair& c : Pairs(trial)) {
    trial.Begin(c.Name());
    Floats x = trial.Sparse(c.n * c.in, 0.5);
    Floats dy1 = trial.Noise(c.n * c.first_out), dy2 = trial.Noise(c.n * c.second_out);
    Floats dw1 = trial.Weights(c.in * c.first_out), dw2 = trial.Weights(c.in * c.second_out);
    Floats db1 = trial.Weights(c.first_out), db2 = trial.Weights(c.second_out);
    trial.Both([&](auto& backend, auto of) {
      backend.PairBackwardWeights(
          {.shape = c.first(), .n = c.n, .x = of(x), .dy = of(dy1), .dw = of(dw1), .db = of(db1)},
          {.shape = c.second(), .n = c.n, .x = of(x), .dy = of(dy2), .dw = of(dw2), .db = of(db2)});
    });
    for (auto [dw, db] : {std::pair(&dw1, &db1), std::pair(&dw2, &db2)}) {
      trial.ExpectProducts(*dw, "dw", c.over_samples(), c.n);
      trial.Expect(*db, "db", c.over_samples(), std::sqrt(c.n));
    }
  }
}

void PairBackwardInput(Trial& trial) {
  for (const Pair& c : Pairs(trial)) {
    trial.Begin(c.Name());
    Floats w1 = trial.Weights(c.in * c.first_out), w2 = trial.Weights(c.in * c.second_out);
    Floats dy1 = trial.Noise(c.n * c.first_out), dy2 = trial.Noise(c.n * c.second_out);
    Floats mask = trial.Mask(c.n * c.in);
    for (const bool masked : {false, true}) {
      Floats* const relu_output = masked ? &mask : nullptr;
      const Put put = masked == c.odd() ? Put::kAdd : Put::kReplace;
      Floats dx = trial.Noise(c.n * c.in);
      trial.Both([&](auto& backend, auto of) {
        const auto args = [&](const LinearShape& shape, Floats& w, Floats& dy) {
          return LinearBackwardInputArgs<std::remove_pointer_t<decltype(of(dx))>>{
              .shape = shape,
              .n = c.n,
              .w = of(w),
              .dy = of(dy),
              .put = put,
              .relu_output = of(relu_output),
              .dx = of(dx)};
        };
        backend.PairBackwardInput(args(c.first(), w1, dy1), args(c.second(), w2, dy2));
      });
      trial.ExpectProducts(dx, put == Put::kAdd ? "dx added to" : "dx", kSums,
                           c.first_out + c.second_out);
    }
  }
}

}  // namespace starling::net::checks
