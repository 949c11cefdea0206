#include "bench/mutex_apply.h"

#include <algorithm>
#include <array>

namespace starling::bench {

MutexApply::MutexApply(const Config& config, std::span<const float> weights)
    : PushWay(weights.size()),
      optimizer_(learner::MakeOptimizerSpec(config.optimizer)),
      schedule_(config),
      weights_(weights.begin(), weights.end()),
      state_(optimizer_.slots.size(), std::vector<float>(weights.size())) {
  snapshot_.Begin(0);
  snapshot_.Write(0, 0, weights_);
  snapshot_.Publish(schedule_.Initial());
}

// Works block by block, as the lanes do: each is still in the nearest cache for its publication.
std::uint64_t MutexApply::Push(std::size_t, std::span<const float> gradient,
                               std::uint32_t samples) {
  const std::lock_guard lock(mutex_);
  schedule_.Stamp(update_, gradient, samples);
  const learner::StepSize step =
      learner::MakeStepSize(optimizer_, update_.lr, update_.scale, update_.optimizer_step);
  snapshot_.Begin(update_.version);
  for (std::size_t offset = 0; offset < weights_.size(); offset += learner::kApplyBlock) {
    const std::size_t n = std::min(learner::kApplyBlock, weights_.size() - offset);
    const std::span<float> weights = std::span(weights_).subspan(offset, n);
    std::array<std::span<float>, learner::kMaxSlots> state;
    for (std::size_t s = 0; s < state_.size(); ++s) {
      state.at(s) = std::span(state_[s]).subspan(offset, n);
    }
    learner::ApplyUpdate(optimizer_, step, gradient.subspan(offset, n), weights,
                         std::span(state).first(state_.size()));
    snapshot_.Write(update_.version, offset, weights);
  }
  snapshot_.Publish(update_.meta);
  return update_.version;
}

}  // namespace starling::bench
