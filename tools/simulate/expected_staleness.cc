#include "tools/simulate/expected_staleness.h"

#include <algorithm>
#include <limits>

namespace starling::simulate {
namespace {

// Waiting and service of a queue that takes `service` ms a customer, `rate` of which come in a ms.
double InQueue(double service, double rate) {
  const double busy = service * rate;
  if (busy >= 1) return std::numeric_limits<double>::infinity();
  return service + service * busy / (2 * (1 - busy));
}

// Milliseconds that an unroll and its gradient take, slowed down by `factor`.
double ComputeMs(const Config& config, double factor) {
  const double paced = static_cast<double>(config.actors.unroll) * config.env.step_ms;
  return factor * (config.simulate.compute_ms + paced) + config.simulate.refresh_ms;
}

}  // namespace

std::optional<double> ExpectedStaleness(const Config& config) {
  const SimulateConfig& times = config.simulate;
  if (config.staleness.delayed()) return static_cast<double>(config.staleness.delay);
  if (config.staleness.bound != kUnbounded || config.gradients_per_unroll() > 1) return {};
  // 1. Where grants run out.
  const auto actors = static_cast<double>(config.actors.count);
  const auto grants = static_cast<double>(config.updates.in_flight);
  const auto taken = static_cast<double>(config.updates.gradients);  // by an update
  const double all_spent = actors * grants / taken - 1;
  if (config.updates.in_flight == 1) return std::max(all_spent, 0.0);
  // 2. Where every actor always computes: gradients in a millisecond.
  const auto slow = static_cast<double>(times.stragglers);
  const double rate = (actors - slow) / ComputeMs(config, 1) +
                      (slow == 0 ? 0 : slow / ComputeMs(config, times.straggler_factor));
  // 3. The way of a gradient and of the next weights.
  const double push = times.network_ms * (1 + times.delayed_share * (times.delayed_factor - 1));
  const double apply = times.apply_ms + (taken - 1) * times.merge_ms;
  const double on_the_way =
      push + times.network_ms + InQueue(times.receive_ms, rate) + InQueue(apply, rate / taken);
  return std::max(std::min(all_spent, (actors + rate * on_the_way) / taken), 0.0);
}

}  // namespace starling::simulate
