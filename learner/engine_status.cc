// What the counters and the engine report; declared in learner/engine.h.
#include <cmath>
#include <optional>

#include "learner/engine.h"

namespace starling::learner {

RunStatus StatusOf(const Config& config, const Counters& counters, std::uint64_t steps,
                   const wire::Gradient& newest) {
  // Means are NaN before the first episode.
  const auto known = [](double mean) {
    return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
  };
  const double seconds = counters.seconds;
  return {.steps = steps,
          .frames = steps * static_cast<std::uint64_t>(config.env.repeat),
          .updates = counters.updates,
          .seconds = seconds,
          .steps_per_second = seconds > 0 ? static_cast<double>(steps) / seconds : 0,
          .mean_return = known(counters.mean_return()),
          .mean_length = known(counters.mean_length()),
          .episodes = counters.episodes,
          .episodes_cut = counters.episodes_cut,
          .envs_replaced = counters.envs_replaced,
          .losses = {.policy = newest.policy_loss,
                     .value = newest.value_loss,
                     .entropy = newest.entropy,
                     .grad_norm = newest.norm},
          .gradients = {.received = counters.received,
                        .applied = counters.applied,
                        .merged = counters.merged,
                        .in_flight = counters.in_flight(),
                        .dropped = counters.dropped},
          .frames_refused = counters.frames_refused,
          .deadlines = counters.deadlines,
          .breaks = counters.breaks,
          .staleness = {.bound = config.staleness.bound,
                        .max = counters.staleness.max(),
                        .mean = counters.staleness.mean(),
                        .histogram = counters.staleness.counts()},
          .reuse = config.reuses_data()
                       ? std::optional(ReuseStatus{.kl = newest.kl,
                                                   .clipped = newest.clipped,
                                                   .age_max = counters.data_age.max(),
                                                   .age_mean = counters.data_age.mean(),
                                                   .age_histogram = counters.data_age.counts()})
                       : std::nullopt};
}

RunStatus Engine::Status() const {
  RunStatus status = StatusOf(config_, counters_, pipeline_.steps(), newest_);
  status.term = term_;
  status.lr = pipeline_.lr();
  status.entropy_coef = pipeline_.entropy();
  status.actors_alive = static_cast<int>(roster_.size());
  status.version = pipeline_.published();
  return status;
}

}  // namespace starling::learner
