#include "learner/tensorboard_log.h"

#include <cmath>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace starling::learner {
namespace {

LineTotals TotalsOf(const RunStatus& status) {
  return {.steps = status.steps, .updates = status.updates, .seconds = status.seconds};
}

}  // namespace

std::vector<Scalar> ScalarsOf(const RunStatus& status, const LineTotals& before) {
  const auto per_second = [&](std::uint64_t now, std::uint64_t then) {
    const double seconds = status.seconds - before.seconds;
    return seconds > 0 ? (static_cast<double>(now) - static_cast<double>(then)) / seconds : NAN;
  };
  const Scalar charts[] = {
      {"return", status.mean_return.value_or(NAN)},
      {"episode_length", status.mean_length.value_or(NAN)},
      {"loss/policy", status.losses.policy},
      {"loss/value", status.losses.value},
      {"loss/entropy", status.losses.entropy},
      {"optimizer/learning_rate", status.lr},
      {"optimizer/gradient_norm", status.losses.grad_norm},
      {"staleness/mean", status.staleness.mean},
      {"staleness/max", static_cast<double>(status.staleness.max)},
      {"speed/steps_per_second", per_second(status.steps, before.steps)},
      {"speed/updates_per_second", per_second(status.updates, before.updates)},
  };
  std::vector<Scalar> scalars;
  for (const Scalar& chart : charts) {
    if (std::isfinite(chart.value)) scalars.push_back(chart);
  }
  return scalars;
}

TensorBoardLog::TensorBoardLog(bool wanted, const std::filesystem::path& run_dir,
                               std::uint64_t steps)
    : before_{.steps = steps} {
  if (!wanted) return;
  try {
    events_.emplace(run_dir / "tensorboard", steps + 1);
  } catch (const std::system_error& error) {
    LogWarn("nothing for TensorBoard: {}", error.what());
  }
}

void TensorBoardLog::Show(const RunStatus& status) {
  if (!events_) return;
  const LineTotals before = std::exchange(before_, TotalsOf(status));
  if (before_.steps == before.steps) return;
  if (events_->Write(status.steps, ScalarsOf(status, before))) return;
  if (!std::exchange(error_reported_, true)) {
    LogWarn("tensorboard: points could not be written");
  }
}

}  // namespace starling::learner
