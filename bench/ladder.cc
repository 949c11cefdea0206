// Measures the two hot ops of the MinAtar net in all versions of their ladders, on the same data.
#include "bench/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/stats.h"
#include "core/memory.h"
#include "core/random.h"
#include "net/cpu/gemm.h"

namespace starling::bench {
namespace {

using Floats = Buffer<float>;  // aligned to cache lines, as in the nets

constexpr int kForward = 64, kBackward = 320;  // samples: the envs of an actor, its rollout
constexpr net::LinearShape kLinear{.in = 1024, .out = 128};
constexpr net::ConvShape kConv{
    .height = 10, .width = 10, .in_channels = 4, .out_channels = 16};  // 3 x 3
// Shares of nonzeros. Of activations: too dense for sparse kernels, about even, as in a trained
// net.
constexpr double kActivations[] = {1.0, 0.3, 0.13}, kCells[] = {0.03, 0.08};

Floats Noise(RandomStream& random, int count) {
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values.span()) value = random.Normal();
  return values;
}

// The output of a relu: a share of `density` is positive, the rest 0.
Floats Sparse(RandomStream& random, int count, double density) {
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values.span()) {
    value = random.UniformDouble() < density ? std::abs(random.Normal()) : 0.0f;
  }
  return values;
}

// Largest difference, relative to the largest magnitude of `expected`.
double RelativeError(std::span<const float> actual, std::span<const float> expected) {
  float difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(actual[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(actual[i] - expected[i]));
    magnitude = std::max(magnitude, std::abs(expected[i]));
  }
  return difference == 0 ? 0 : difference / magnitude;
}

// Adds the ladder's row, its lines in the table of details and its JSON.
void Measure(const Ladder& ladder, double seconds, Result& result) {
  const std::vector<Rung> rungs = Climb(ladder, seconds);
  AddRow(ladder.op, rungs, result);
  Json& kernels = result.json[ladder.op] = Json::array();
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const auto& [name, ran, us, error] = rungs[i];
    const std::string number = fmt::format("{}", i + 1);
    result.details += Line({i == 0 ? ladder.op : "", number, name,
                            ran ? fmt::format("{:.1f}", us) : "leaves it to 1",
                            ran ? fmt::format("{:.2f}", rungs[0].us / us) : ""});
    kernels.push_back({{"kernel", i + 1}, {"name", name}});
    if (ran) kernels.back().update({{"us", us}, {"error", error}});
  }
}

}  // namespace

std::vector<Rung> Climb(const Ladder& ladder, double seconds) {
  // 1. Compare every kernel with kernel 1. NaNs reveal outputs that a kernel does not write.
  std::vector<Rung> rungs;
  std::vector<std::vector<float>> expected;
  for (const Kernel& kernel : ladder.kernels) {
    Rung& rung = rungs.emplace_back(Rung{.name = kernel.name});
    for (const auto output : ladder.outputs) {
      std::ranges::fill(output, std::numeric_limits<float>::quiet_NaN());
    }
    rung.ran = kernel.run();
    if (!rung.ran) continue;
    for (std::size_t i = 0; i < ladder.outputs.size(); ++i) {
      const auto output = ladder.outputs[i];
      if (rungs.size() == 1) expected.emplace_back(output.begin(), output.end());
      rung.error = std::max(rung.error, RelativeError(output, expected[i]));
    }
  }
  // 2. Time them in turns, so that a disturbance hits all of them alike.
  std::vector<std::vector<double>> times(rungs.size());
  for (double spent = 0; spent < seconds * 1e9 || times[0].size() < kMinRepeats;) {
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      if (!rungs[i].ran) continue;
      times[i].push_back(TimeNs(ladder.kernels[i].run));
      spent += times[i].back();
    }
  }
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    if (rungs[i].ran) rungs[i].us = Median(times[i]) / 1e3;
  }
  return rungs;
}

void AddRow(const std::string& op, const std::vector<Rung>& rungs, Result& result) {
  std::string times, apart;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung& rung = rungs[i];
    times += fmt::format("{}{}: ", i == 0 ? "" : ", ", i + 1);
    times += rung.ran ? fmt::format("{:.0f}", rung.us) : "–";
    if (rung.ran && i > 0) times += fmt::format(" ({:.2f} ×)", rungs[0].us / rung.us);
    if (rung.error > kMaxError) {
      apart += fmt::format("; kernel {} is wrong by {:.1g}", i + 1, rung.error);
    }
  }
  result.rows.push_back({.what = op + ": µs of each kernel (times as fast as 1)",
                         .measured = times + apart,
                         .wanted = "they agree within 1e-5",
                         .holds = apart.empty()});
  result.broken = result.broken || !apart.empty();
}

Result MeasureLadder(const Site& site) {
  net::cpu::PrepareThread();
  const double seconds = site.quick ? 0.002 : 0.4;
  Result result{.details =
                    "Kernels, numbered as they were found (`bench/ladder_kernels.cc`), "
                    "medians:\n\n" +
                    Head({"op", "number", "kernel", "µs", "times as fast as 1"})};
  RandomStream random(StreamId{.seed = 1});

  // Climbs a ladder with inputs of each density.
  const auto climb = [&](const char* op, int samples, int in, std::span<const double> densities,
                         const auto& kernels, std::vector<std::span<float>> outputs) {
    for (const double density : densities) {
      const Floats x = Sparse(random, samples * in, density);
      const std::string name =
          fmt::format("{}, batch {}, {:.0f} % set", op, samples, 100 * density);
      Measure({.op = name, .kernels = kernels(x.data()), .outputs = outputs}, seconds, result);
    }
  };

  // The fully connected layer, forward and backward.
  const Floats w = Noise(random, kLinear.in * kLinear.out), b = Noise(random, kLinear.out);
  const Floats dy = Noise(random, kBackward * kLinear.out);
  Floats y(static_cast<std::size_t>(kForward * kLinear.out));
  Floats dw(w.size()), db(b.size()), dx(static_cast<std::size_t>(kBackward * kLinear.in));
  const auto forward = [&](const float* x) {
    return LinearForwardKernels(kLinear, kForward, x, w.data(), b.data(), y.data());
  };
  climb("linear 1024×128 forward", kForward, kLinear.in, kActivations, forward, {y.span()});
  const auto backward = [&](const float* x) {
    return LinearBackwardKernels(kLinear, kBackward, x, w.data(), dy.data(), dw.data(), db.data(),
                                 dx.data());
  };
  climb("linear 1024×128 backward", kBackward, kLinear.in, kActivations, backward,
        {dw.span(), db.span(), dx.span()});

  // The convolution, whose input is a sparse observation.
  const Floats conv_w = Noise(random, kConv.num_weights());
  Floats conv_y(static_cast<std::size_t>(kForward * kConv.out_size()));
  const auto conv = [&](const float* x) {
    return ConvForwardKernels(kConv, kForward, x, conv_w.data(), b.data(), conv_y.data());
  };
  climb("conv 16@3×3 of 10×10×4 forward", kForward, kConv.in_size(), kCells, conv, {conv_y.span()});
  return result;
}

}  // namespace starling::bench
