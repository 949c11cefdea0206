// Checks of the statistics of observations and rewards, and their use.
#include "net/checks/draws.h"
#include "net/checks/trial.h"

namespace starling::net::checks {
namespace {

constexpr double kRounding = 1e-6, kSums = 1e-5;

constexpr Columns kColumns[] = {
    {1, 1, 0, 0}, {7, 3, 2, 5}, {300, 17, 0, 17}, {16, 376, 0, 6}, {70'001, 2, 1, 0}};

// Of numbers around 0, numbers far from it, a constant, and one that was never seen.
std::vector<float> SomeSums(Trial& trial, int width) {
  std::vector<float> sums;
  for (int j = 0; j < width; ++j) {
    const float count = j % 4 == 3 ? 0.0f : 1.0f + 1000 * trial.random().Uniform();
    const float mean = j % 4 == 0 ? trial.random().Uniform() - 0.5f : 3.0f;
    const float variance = j % 4 == 2 ? 0.0f : 0.25f;
    sums.insert(sums.end(), {count, count * mean, count * (mean * mean + variance), 0.0f});
    for (int rest = 0; rest < kRest; ++rest) sums.push_back(1e-6f * trial.random().Uniform());
  }
  return sums;
}

}  // namespace

void Standardize(Trial& trial) {
  for (const Columns& c : kColumns) {
    trial.Begin(c.Name());
    Floats from = trial.Noise(c.n * c.row()), to = trial.Noise(c.n * (c.width + c.after));
    Floats sums = trial.Given(SomeSums(trial, c.width));
    trial.Both([&](auto& backend, auto of) {
      backend.Standardize({.n = c.n,
                           .width = c.width,
                           .from = of(from) + c.before,
                           .from_row = c.row(),
                           .sums = of(sums),
                           .to = of(to),
                           .to_row = c.width + c.after});
    });
    trial.Expect(to, "to", kRounding, 1);
  }
}

void StandardizePictures(Trial& trial) {
  struct Case {
    int n, cells, channels, before, after;
  };
  // Also one cell, fewer than a warp's, and more channels than there are lanes.
  for (const auto& [n, cells, channels, before, after] : {Case{6, 84 * 84, 4, 0, 0},
                                                          {2, 100, 10, 5, 2},
                                                          {5, 1, 3, 0, 1},
                                                          {4, 9, 40, 1, 0},
                                                          {70'001, 6, 1, 0, 0}}) {
    trial.Begin(fmt::format("{} of {} cells x {}, {} before and {} behind them", n, cells, channels,
                            before, after));
    const int size = cells * channels, row = before + size + after;
    // Of ten rows, one has noise, one a grey that hardly varies, and one a single grey. The others
    // have a few bright pixels in front of a grey, which are clipped.
    std::vector<float> pixels;
    for (int i = 0; i < n * row; ++i) {
      const int kind = i / row % 10;
      const float bright = trial.Between(1, 200) == 1 ? 0.9f : 0.34f;
      const float faint = 0.5f + static_cast<float>(trial.Between(0, 1)) / 255;
      pixels.push_back(kind == 3   ? trial.random().Uniform()
                       : kind == 4 ? faint
                       : kind == 5 ? 0.7f
                                   : bright);
    }
    Floats from = trial.Given(pixels), to = trial.Noise(n * (size + after));
    trial.Both([&](auto& backend, auto of) {
      backend.StandardizePictures({.n = n,
                                   .cells = cells,
                                   .channels = channels,
                                   .from = of(from) + before,
                                   .from_row = row,
                                   .to = of(to),
                                   .to_row = size + after});
    });
    trial.Expect(to, "to", kRounding, 1);
  }
}

void SumMoments(Trial& trial) {
  for (const Columns& c : kColumns) {
    trial.Begin(c.Name());
    Floats x = trial.Noise(c.n * c.row()), to = trial.Noise(c.width * kSumsOfNumber);
    trial.Both([&](auto& backend, auto of) {
      backend.SumMoments({.n = c.n,
                          .width = c.width,
                          .x = of(x) + c.before,
                          .row = c.row(),
                          .factor = 1.0 / 64,
                          .to = of(to)});
    });
    trial.Expect(to, "to", kSums, 1);
  }
}

void ScaleRewards(Trial& trial) {
  for (const int n : {1, 33, 300, 70'001}) {
    trial.Begin(fmt::format("{} environments", n));
    auto resets = trial.Same(Below<std::uint8_t>(trial, n, 4));
    Floats sums = trial.Given(SomeSums(trial, 1)), before = trial.Noise(n), now = trial.Noise(n);
    Floats rewards = trial.Noise(n);
    trial.Both([&](auto& backend, auto of) {
      backend.ScaleRewards({.n = n,
                            .gamma = 0.97,
                            .sums = of(sums),
                            .resets = of(resets),
                            .before = of(before),
                            .now = of(now),
                            .rewards = of(rewards)});
    });
    trial.Expect(now, "returns", kRounding, 1);
    trial.Expect(rewards, "rewards", kRounding, 1);
  }
}

}  // namespace starling::net::checks
