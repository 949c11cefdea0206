// Engine::Status and what it reports; declared in learner/engine.h.
#include <cmath>
#include <optional>

#include "learner/engine.h"

namespace starling::learner {

RunStatus Engine::Status() const {
  // Means are NaN before the first episode.
  const auto known = [](double mean) {
    return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
  };
  const std::uint64_t steps = pipeline_.steps();
  const double seconds = counters_.seconds;
  return {.term = term_,
          .steps = steps,
          .frames = steps * static_cast<std::uint64_t>(config_.env.repeat),
          .updates = counters_.updates,
          .seconds = seconds,
          .steps_per_second = seconds > 0 ? static_cast<double>(steps) / seconds : 0,
          .mean_return = known(counters_.mean_return()),
          .mean_length = known(counters_.mean_length()),
          .episodes = counters_.episodes,
          .episodes_cut = counters_.episodes_cut,
          .envs_replaced = counters_.envs_replaced,
          .lr = pipeline_.lr(),
          .entropy_coef = pipeline_.entropy(),
          .losses = {.policy = newest_.policy_loss,
                     .value = newest_.value_loss,
                     .entropy = newest_.entropy,
                     .grad_norm = newest_.norm},
          .gradients = {.received = counters_.received,
                        .applied = counters_.applied,
                        .merged = counters_.merged,
                        .in_flight = counters_.in_flight(),
                        .dropped = counters_.dropped},
          .frames_refused = counters_.frames_refused,
          .deadlines = counters_.deadlines,
          .breaks = counters_.breaks,
          .staleness = {.bound = config_.staleness.bound,
                        .max = counters_.staleness.max(),
                        .mean = counters_.staleness.mean(),
                        .histogram = counters_.staleness.counts()},
          .reuse = config_.reuses_data()
                       ? std::optional(ReuseStatus{.kl = newest_.kl,
                                                   .clipped = newest_.clipped,
                                                   .age_max = counters_.data_age.max(),
                                                   .age_mean = counters_.data_age.mean(),
                                                   .age_histogram = counters_.data_age.counts()})
                       : std::nullopt,
          .actors_alive = static_cast<int>(roster_.size()),
          .version = pipeline_.published()};
}

}  // namespace starling::learner
