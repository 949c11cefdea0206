#include "learner/tensorboard_log.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace starling::learner {
namespace {

using Json = nlohmann::ordered_json;

// A chart, and where its number is in a line.
struct Chart {
  const char* tag;
  const char* place;  // a JSON pointer
};
constexpr Chart kCharts[] = {
    {"return", "/mean_return"},
    {"episode_length", "/mean_length"},
    {"loss/policy", "/losses/policy"},
    {"loss/value", "/losses/value"},
    {"loss/entropy", "/losses/entropy"},
    {"optimizer/learning_rate", "/lr"},
    {"optimizer/gradient_norm", "/losses/grad_norm"},
    {"staleness/mean", "/staleness/mean"},
    {"staleness/max", "/staleness/max"},
};

Progress ProgressOf(const Json& status) {
  return {.steps = status["steps"].get<double>(),
          .updates = status["updates"].get<double>(),
          .seconds = status["seconds"].get<double>()};
}

}  // namespace

std::vector<Scalar> ScalarsOf(const Json& status, const Progress& before) {
  std::vector<Scalar> scalars;
  for (const Chart& chart : kCharts) {
    const Json& number = status.at(Json::json_pointer(chart.place));
    if (number.is_number()) scalars.push_back({chart.tag, number.get<double>()});
  }
  const Progress now = ProgressOf(status);
  if (const double seconds = now.seconds - before.seconds; seconds > 0) {
    scalars.push_back({"speed/steps_per_second", (now.steps - before.steps) / seconds});
    scalars.push_back({"speed/updates_per_second", (now.updates - before.updates) / seconds});
  }
  return scalars;
}

TensorBoardLog::TensorBoardLog(bool wanted, const std::filesystem::path& run_dir, std::uint64_t steps)
    : before_{.steps = static_cast<double>(steps)} {
  if (!wanted) return;
  try {
    events_.emplace(run_dir / "tensorboard", steps + 1);
  } catch (const std::system_error& error) {
    LogWarn("nothing for TensorBoard: {}", error.what());
  }
}

void TensorBoardLog::Show(const Json& status) {
  if (!events_) return;
  const Progress before = std::exchange(before_, ProgressOf(status));
  if (before_.steps == before.steps) return;
  const std::vector<Scalar> scalars = ScalarsOf(status, before);
  if (events_->Write(status["steps"].get<std::uint64_t>(), scalars)) return;
  if (!std::exchange(trouble_said_, true)) LogWarn("tensorboard: points could not be written");
}

}  // namespace starling::learner
