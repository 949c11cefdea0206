#include "tools/simulate/times.h"

#include <cmath>

namespace starling::simulate {
namespace {

enum Draws : std::uint32_t { kComputes, kPushes };  // take the place of the env in a StreamId

RandomStream Stream(std::uint64_t seed, std::uint32_t slot, std::uint32_t incarnation, Draws what) {
  return RandomStream({.seed = seed,
                       .slot = slot,
                       .incarnation = incarnation,
                       .env = what,
                       .purpose = Purpose::kTime});
}

}  // namespace

std::int64_t NsOf(double ms) { return std::llround(ms * 1e6); }

std::int64_t ApplyNs(const SimulateConfig& simulate, std::size_t gradients) {
  return NsOf(simulate.apply_ms + static_cast<double>(gradients - 1) * simulate.merge_ms);
}

ActorTimes::ActorTimes(const Config& config, std::uint32_t slot, std::uint32_t incarnation)
    : simulate_(config.simulate),
      factor_(slot < simulate_.stragglers ? simulate_.straggler_factor : 1.0),
      unroll_(config.actors.unroll),
      pace_(config.env, config.actors.unroll, {config.run.seed, slot, incarnation}),
      computes_(Stream(config.run.seed, slot, incarnation, kComputes)),
      pushes_(Stream(config.run.seed, slot, incarnation, kPushes)) {}

std::int64_t ActorTimes::ComputeNs() {
  const double between = 2 * computes_.UniformDouble() - 1;  // -1 to 1
  const double compute_ms = simulate_.compute_ms * (1 + simulate_.compute_spread * between);
  std::int64_t paced_ns = 0;
  for (std::int64_t step = 0; step < unroll_; ++step) paced_ns += pace_.NextStepNs();
  return NsOf(factor_ * (compute_ms + static_cast<double>(paced_ns) / 1e6));
}

std::int64_t ActorTimes::PushNs() {
  const bool delayed = pushes_.UniformDouble() < simulate_.delayed_share;
  return NsOf(simulate_.network_ms * (delayed ? simulate_.delayed_factor : 1.0));
}

}  // namespace starling::simulate
