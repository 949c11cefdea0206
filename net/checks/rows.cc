// Checks of the ops on the rows of an array.
#include <cmath>

#include "net/checks/draws.h"
#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kSums = 1e-5;

constexpr Columns kCases[] = {
    {1, 1, 0, 0}, {7, 3, 2, 5}, {300, 17, 0, 17}, {16, 400, 0, 6}, {70'001, 2, 1, 0}};

}  // namespace

void CopyColumns(Trial& trial) {
  for (const Columns& c : kCases) {
    for (const bool repeated : {false, true}) {
      trial.Begin(c.Name() + (repeated ? ", of one row" : ""));
      Floats from = trial.Noise(repeated ? c.width : c.n * c.row());
      Floats to = trial.Noise(c.n * c.row());
      trial.Both([&](auto& backend, auto of) {
        backend.CopyColumns({.n = c.n,
                             .width = c.width,
                             .from = of(from) + (repeated ? 0 : c.after),
                             .from_row = repeated ? 0 : c.row(),
                             .to = of(to) + c.before,
                             .to_row = c.row()});
      });
      trial.Expect(to, "to", 0);
    }
  }
}

void SumRows(Trial& trial) {
  for (const Columns& c : kCases) {
    trial.Begin(c.Name());
    Floats x = trial.Noise(c.n * c.row()), sum = trial.Noise(c.width);
    trial.Both([&](auto& backend, auto of) {
      backend.SumRows(
          {.n = c.n, .width = c.width, .x = of(x) + c.before, .row = c.row(), .sum = of(sum)});
    });
    trial.Expect(sum, "sum", kSums, std::sqrt(c.n));
  }
}

void MaskLogits(Trial& trial) {
  for (const Columns& c : kCases) {
    trial.Begin(c.Name());
    // Of the last row, everything is forbidden.
    std::vector<float> allowed(static_cast<std::size_t>(c.n * c.row()));
    for (std::size_t i = 0; i + static_cast<std::size_t>(c.row()) < allowed.size(); ++i) {
      allowed[i] = static_cast<float>(trial.random().Below(2));
    }
    Floats mask = trial.Given(allowed), logits = trial.Noise(c.n * c.width);
    trial.Both([&](auto& backend, auto of) {
      backend.MaskLogits({.n = c.n,
                          .width = c.width,
                          .mask = of(mask) + c.before,
                          .row = c.row(),
                          .logits = of(logits)});
    });
    trial.Expect(logits, "logits", 0);
  }
}

}  // namespace starling::net::checks
