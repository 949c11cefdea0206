#include "learner/apply/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace starling::learner {
namespace {

// Returns the fraction of the run that remains: 1 at the start, 0 at and after the end.
double Remaining(std::uint64_t run_steps, std::uint64_t steps_applied) {
  if (steps_applied >= run_steps) return 0;
  return static_cast<double>(run_steps - steps_applied) / static_cast<double>(run_steps);
}

// Returns the warm-up factor at `steps`: steps / warmup_steps, at most 1; 1 without a warm-up.
double Warmup(std::uint64_t warmup_steps, std::uint64_t steps) {
  if (steps >= warmup_steps) return 1;
  return static_cast<double>(steps) / static_cast<double>(warmup_steps);
}

}  // namespace

double LearningRate(const OptimizerConfig& config, std::uint64_t run_steps,
                    std::uint64_t steps_applied, std::uint64_t samples) {
  const double lr =
      config.lr * Warmup(static_cast<std::uint64_t>(config.warmup_steps), steps_applied + samples);
  if (config.lr_schedule == LrSchedule::kConstant) return lr;
  return lr * Remaining(run_steps, steps_applied);
}

double EntropyCoef(const LossConfig& config, std::uint64_t run_steps, std::uint64_t steps_applied) {
  if (config.entropy_schedule == EntropySchedule::kConstant) return config.entropy;
  const double remaining = Remaining(run_steps, steps_applied);
  if (config.entropy_schedule == EntropySchedule::kExponential) {
    return std::pow(config.entropy, remaining) * std::pow(config.entropy_end, 1 - remaining);
  }
  return config.entropy * remaining + config.entropy_end * (1 - remaining);
}

double LrScale(const OptimizerConfig& config, std::uint64_t samples) {
  if (config.scale_lr == LrScaling::kNone) return 1;
  CHECK(config.lr_samples > 0, "optimizer.lr_samples is not resolved");
  const double times = static_cast<double>(samples) / static_cast<double>(config.lr_samples);
  return config.scale_lr == LrScaling::kSqrt ? std::sqrt(times) : times;
}

std::string WhyToWarmUp(const Config& config) {
  constexpr double kBold = 2;
  const OptimizerConfig& optimizer = config.optimizer;
  if (optimizer.scale_lr != LrScaling::kLinear || optimizer.warmup_steps > 0) return "";
  const std::int64_t gradients =
      config.staleness.bound == 0 ? config.actors.count : config.updates.gradients;
  const double times =
      LrScale(optimizer, static_cast<std::uint64_t>(gradients * config.samples_per_gradient()));
  if (times <= kBold) return "";
  return fmt::format(
      "optimizer.scale_lr = \"linear\" makes the steps {:.3g} times as long from the first update "
      "on, which often diverges: set optimizer.warmup_steps, to {} for example",
      times, std::max<std::uint64_t>(1, config.run.steps / 10));
}

double DampingScale(const StalenessConfig& config, std::span<const Contribution> contributions) {
  if (config.damping == Damping::kNone) return 1;
  double damped = 0, samples = 0;
  for (const Contribution& part : contributions) {
    const double m = static_cast<double>(part.samples);
    samples += m;
    const auto age = static_cast<double>(std::max<std::uint64_t>(1, part.staleness));
    damped += m / (config.damping == Damping::kSqrt ? std::sqrt(age) : age);
  }
  CHECK(samples > 0, "an update of {} gradients without samples", contributions.size());
  return damped / samples;
}

}  // namespace starling::learner
