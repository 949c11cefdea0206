#include "learner/training_status.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace starling::learner {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json TrainingStatus(std::string_view phase, std::uint32_t term, const Config& config,
                    const Pipeline& pipeline, const Counters& counters, const Losses& losses) {
  const std::uint64_t steps = pipeline.steps();
  return {
      {"phase", phase},
      {"term", term},
      {"steps", steps},
      {"frames", steps * static_cast<std::uint64_t>(config.env.repeat)},
      {"updates", counters.updates},
      {"seconds", counters.seconds},
      {"steps_per_second",
       counters.seconds > 0 ? static_cast<double>(steps) / counters.seconds : 0},
      {"mean_return", NumberOrNull(counters.mean_return())},
      {"mean_length", NumberOrNull(counters.mean_length())},
      {"episodes", counters.episodes},
      {"episodes_cut", counters.episodes_cut},
      {"envs_replaced", counters.envs_replaced},
      {"lr", pipeline.lr()},
      {"entropy_coef", pipeline.entropy()},
      {"losses",
       {{"policy", NumberOrNull(losses.policy)},
        {"value", NumberOrNull(losses.value)},
        {"entropy", NumberOrNull(losses.entropy)},
        {"grad_norm", NumberOrNull(losses.grad_norm)}}},
      {"gradients", counters.Gradients()},
      {"frames_refused", counters.frames_refused},
      {"deadlines", counters.deadlines},
      {"staleness", {{"max", counters.staleness.max()}, {"mean", counters.staleness.mean()}}},
  };
}

}  // namespace starling::learner
