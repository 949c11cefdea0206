#include "tools/simulate/expected_staleness.h"

#include <algorithm>
#include <array>

namespace starling::simulate {
namespace {

// Waiting in a queue that takes `service` ms a customer, `rate` of which come in a ms. REQUIRES: it
// has time for all.
double Waiting(double service, double rate) {
  const double busy = service * rate;
  return service * busy / (2 * (1 - busy));
}

// Actors of equal speed.
struct Kind {
  double number = 0, compute = 0;  // ms of an unroll and its gradient

  // Gradients of each in a ms, with `grants` that are `on_the_way` ms each.
  double Rate(double grants, double on_the_way) const {
    return std::min(1 / compute, grants / (compute + on_the_way));
  }
};

std::array<Kind, 2> KindsOf(const Config& config) {
  const SimulateConfig& times = config.simulate;
  const auto slow = static_cast<double>(std::min(times.stragglers, config.actors.count));
  const double unroll =
      times.compute_ms + static_cast<double>(config.actors.unroll) * config.env.step_ms;
  std::array kinds = {
      Kind{static_cast<double>(config.actors.count) - slow, unroll + times.refresh_ms},
      Kind{slow, times.straggler_factor * unroll + times.refresh_ms}};
  for (Kind& kind : kinds) {
    if (kind.compute > config.staleness.deadline_s * 1e3) kind.number = 0;  // always too late
  }
  return kinds;
}

}  // namespace

std::optional<double> ExpectedStaleness(const Config& config) {
  const SimulateConfig& times = config.simulate;
  if (config.staleness.delayed()) return static_cast<double>(config.staleness.delay);
  if (config.staleness.bound != kUnbounded || config.gradients_per_unroll() > 1) return {};
  // 1. Where all grants are spent.
  const auto grants = static_cast<double>(config.updates.in_flight);
  const auto taken = static_cast<double>(config.updates.gradients);  // by an update
  const std::array<Kind, 2> kinds = KindsOf(config);
  const double all_spent = (kinds[0].number + kinds[1].number) * grants / taken - 1;
  if (grants == 1) return std::max(all_spent, 0.0);
  // 2. The rate, and the time on the way: each depends on the other.
  const double push = times.network_ms * (1 + times.delayed_share * (times.delayed_factor - 1));
  const double apply = times.apply_ms + (taken - 1) * times.merge_ms;
  const double alone = push + times.receive_ms + apply + times.network_ms;
  double rate = 0, on_the_way = alone;
  for (int round = 0; round < 20; ++round) {
    rate = 0;
    for (const Kind& kind : kinds) rate += kind.number * kind.Rate(grants, on_the_way);
    if (rate * times.receive_ms >= 1 || rate / taken * apply >= 1) return std::max(all_spent, 0.0);
    on_the_way = alone + Waiting(times.receive_ms, rate) + Waiting(apply, rate / taken);
  }
  // 3. The mean over the gradients of all kinds.
  double sum = 0;
  for (const Kind& kind : kinds) {
    const double own = kind.Rate(grants, on_the_way), updates = rate / taken;
    sum += kind.number * own *
           std::min(updates * (kind.compute + on_the_way), updates * grants / own - 1);
  }
  return rate > 0 ? std::max(sum / rate, 0.0) : 0;
}

}  // namespace starling::simulate
