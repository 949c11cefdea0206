#include "learner/refusal_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace starling::learner {
namespace {

std::string Remedy(wire::Outcome reason, const Config& config) {
  switch (reason) {
    case wire::Outcome::kNotFinite:
      return "the net has diverged: lower optimizer.lr, or check observations and rewards";
    case wire::Outcome::kNormTooLarge:
      return fmt::format(
          "their norms are above updates.max_norm = {}: raise it, or lower "
          "optimizer.lr",
          config.updates.max_norm);
    case wire::Outcome::kNoGrant:
      return fmt::format("they come after staleness.deadline_s = {}: raise it",
                         config.staleness.deadline_s);
    default:
      return "the log has the first of them";
  }
}

}  // namespace

void RefusalWatch::Count(std::int64_t now_ms, wire::Outcome outcome) {
  if (outcome == wire::Outcome::kNone) {
    refused_ = 0;
    return;
  }
  if (refused_++ == 0) {
    first_ms_ = now_ms;
    reasons_ = {};
  }
  last_ms_ = now_ms;
  ++reasons_.at(static_cast<std::size_t>(outcome));
}

std::string RefusalWatch::Describe(const Config& config) const {
  const auto most = std::ranges::max_element(reasons_);
  const auto reason = static_cast<wire::Outcome>(most - reasons_.begin());
  return fmt::format(
      "training cannot go on: all {} gradients of the last {} s were refused, {} of them as {}; {}",
      refused_, (last_ms_ - first_ms_) / 1000, *most, wire::OutcomeName(reason),
      Remedy(reason, config));
}

}  // namespace starling::learner
