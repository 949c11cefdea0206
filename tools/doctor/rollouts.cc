// Whole unrolls and their gradients: on a GPU beside the host's, and twice on the same device.
//
// Both sides draw the same numbers and start from the same weights, whose policies are almost
// uniform. Rounding changes an action only if a draw falls within about 1e-8 of the border between
// two actions; then the games and their gradients diverge. After every gradient both get the same
// new weights, and the same running sums, as from a learner.
#include "actors/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/checks/relative_distance.h"
#include "net/model.h"
#include "tools/doctor/rollout_cases.h"

namespace starling::doctor {
namespace {

using actors::Rollout;
using actors::RolloutEpisodes;
using actors::RolloutGradient;

constexpr int kUnrolls = 4;  // one as it is, one recorded, two replayed

// The weights of one side, its rollout, and its newest results.
struct Side {
  explicit Side(std::unique_ptr<Rollout> its)
      : rollout(std::move(its)),
        weights(net::InitialParameters(rollout->layout(), 1)),
        gradient(weights.size()) {}

  void Act() {
    std::ranges::copy(weights, rollout->weights().begin());
    rollout->Act();
  }
  void Compute(std::uint64_t use) {
    constexpr double kEntropy = 0.01;
    std::ranges::copy(weights, rollout->weights().begin());
    result = rollout->Gradient(use, kEntropy, gradient);
    episodes = rollout->TakeEpisodes();  // an unroll's, with its first gradient
  }
  void Descend(const std::vector<float>& along) {
    constexpr float kRate = 0.05f;
    for (std::size_t i = 0; i < along.size(); ++i)
      weights[i] += i < trained() ? -kRate * along[i] : along[i];
  }

  std::size_t trained() const { return rollout->layout().trained(); }
  std::span<const float> slopes() const { return std::span(gradient).first(trained()); }
  std::span<const float> sums() const { return std::span(gradient).subspan(trained()); }

  std::unique_ptr<Rollout> rollout;
  std::vector<float> weights, gradient;
  RolloutGradient result;
  RolloutEpisodes episodes;
};

struct Distances {
  double gradient = 0, sums = 0, norm = 0, loss = 0;
  double most() const { return std::max({gradient, sums, norm, loss}); }
};

// Raises `worst` to `found`. NaN counts as infinitely far.
void Raise(double& worst, double found) {
  if (!(found <= worst)) worst = std::isnan(found) ? INFINITY : found;
}

double LossDistance(const net::LossReport& a, const net::LossReport& b) {
  const auto off = [](double value, double wanted) {
    return std::abs(value - wanted) / std::max(std::abs(wanted), 1.0);
  };
  double worst = 0;
  Raise(worst, off(a.policy_loss, b.policy_loss));
  Raise(worst, off(a.value_loss, b.value_loss));
  Raise(worst, off(a.entropy, b.entropy));
  return worst;
}

void Compare(const Side& there, const Side& here, Distances& worst) {
  Raise(worst.gradient, net::RelativeDistance(there.slopes(), here.slopes()));
  Raise(worst.sums, net::RelativeDistance(there.sums(), here.sums()));
  Raise(worst.norm, std::abs(there.result.norm - here.result.norm) / here.result.norm);
  Raise(worst.loss, LossDistance(there.result.loss, here.result.loss));
}

Config OnHost(Config config) {
  config.actors.backend = config.actors.env_device = DeviceChoice::kCpu;
  config.net.precision = Precision::kF32;
  return config;
}

// `slot` chooses the GPU, and the random streams.
MakeRollout Make(const Config& config, int slot) {
  return [=] { return std::make_unique<Rollout>(config, static_cast<std::uint32_t>(slot), 1); };
}

Check Beside(const std::string& name, const Config& config, int slot, int unrolls,
             double tolerance) {
  return {name + ", beside the host", [=] {
            return CompareRollouts(Make(config, slot), Make(OnHost(config), slot), unrolls,
                                   tolerance);
          }};
}

Check Twice(const std::string& name, const Config& config, int slot) {
  return {name + ", twice", [make = Make(config, slot)] { return RolloutTwice(make); }};
}

CheckGroup GroupOnGpu(const std::string& name, int index, Sizes sizes) {
  // Where a unit of a ReLU is 0 but for rounding, one side may have its gradient and the other not:
  // one such of many units and samples moves the gradient by some thousandths.
  const double tolerance = sizes == Sizes::kSmall ? 1e-4 : 1e-2;
  CheckGroup group{.kind = "rollouts", .device = name};
  for (const auto& [what, config] : RolloutCases(sizes)) {
    group.checks.push_back(Beside(what, config, index, kUnrolls, tolerance));
    group.checks.push_back(Twice(what, config, index));
  }
  if (sizes == Sizes::kLarge) {
    group.checks.push_back(Twice("1024 envs x 16 steps", MinatarOnGpu(1024, 16), index));
  }
  return group;
}

// Rounded products move the border between actions further, so only one unroll is comparable.
CheckGroup RoundedOnGpu(const std::string& gpu, int index, Precision precision, double tolerance,
                        Sizes sizes) {
  Config config = MinatarOnGpu(EnvsOf(sizes), UnrollOf(sizes));
  config.net.precision = precision;
  return {.kind = "rollouts",
          .device = fmt::format("{} {}", gpu, NameOf(precision)),
          .checks = {Beside("MinAtar net", config, index, 1, tolerance),
                     Twice("MinAtar net", config, index)}};
}

}  // namespace

Verdict CompareRollouts(const MakeRollout& make_there, const MakeRollout& make_here, int unrolls,
                        double tolerance) {
  Side there(make_there()), here(make_here());
  Distances worst;
  std::size_t episodes = 0, gradients = 0;
  for (int unroll = 0; unroll < unrolls; ++unroll) {
    there.Act();
    here.Act();
    for (std::uint64_t use = 0; here.rollout->mid_unroll(); ++use, ++gradients) {
      there.Compute(use);
      here.Compute(use);
      // 1. The same games.
      if (there.episodes != here.episodes) {
        return {.agrees = false,
                .text = fmt::format("unroll {}: other episodes have ended", unroll)};
      }
      episodes += here.episodes.ended.size() + here.episodes.untold;
      // 2. The same gradients.
      Compare(there, here, worst);
      there.Descend(here.gradient);
      here.Descend(here.gradient);
    }
  }
  return {.agrees = worst.most() <= tolerance,
          .text = fmt::format("{:.1e} of {:g}, {} gradients of {} samples, {} episodes",
                              worst.most(), tolerance, gradients, here.result.samples, episodes),
          .numbers = {{"gradient_error", worst.gradient},
                      {"sums_error", worst.sums},
                      {"norm_error", worst.norm},
                      {"loss_error", worst.loss},
                      {"tolerance", tolerance},
                      {"gradients", gradients},
                      {"samples", here.result.samples},
                      {"episodes", episodes}}};
}

Verdict RolloutTwice(const MakeRollout& make) {
  std::vector<std::vector<float>> first;
  std::size_t gradients = 0;
  for (int run = 0; run < 2; ++run) {
    Side side(make());
    gradients = 0;
    for (int unroll = 0; unroll < kUnrolls; ++unroll) {
      side.Act();
      for (std::uint64_t use = 0; side.rollout->mid_unroll(); ++use, ++gradients) {
        side.Compute(use);
        side.Descend(side.gradient);
        if (!std::isfinite(side.result.norm)) {
          return {.agrees = false, .text = fmt::format("gradient {} is not finite", gradients)};
        }
        if (run == 0) {
          first.push_back(side.gradient);
        } else if (std::memcmp(first[gradients].data(), side.gradient.data(),
                               side.gradient.size() * sizeof(float)) != 0) {
          return {.agrees = false, .text = fmt::format("gradient {} has other bits", gradients)};
        }
      }
    }
  }
  return {.agrees = true,
          .text = fmt::format("{} gradients, the same bits", gradients),
          .numbers = {{"gradients", gradients}}};
}

std::vector<CheckGroup> RolloutGroups(const Machine& machine, Sizes sizes) {
  std::vector<CheckGroup> groups = {{.kind = "rollouts", .device = "cpu"}};
  for (const auto& [what, config] : RolloutCases(Sizes::kSmall)) {
    if (what.ends_with("on the host")) continue;  // on the host as the one before it
    groups[0].checks.push_back(Twice(what, OnHost(config), 0));
  }
  for (int index = 0; index < GpuCount(machine); ++index) {
    const std::string name = GpuName(machine, index);
    groups.push_back(GroupOnGpu(name, index, sizes));
    groups.push_back(RoundedOnGpu(name, index, Precision::kTf32, 2e-2, sizes));
    groups.push_back(RoundedOnGpu(name, index, Precision::kBf16, 1e-1, sizes));
  }
  return groups;
}

}  // namespace starling::doctor
