// The alternative to lanes: weights and optimizer state behind one mutex. Only for comparison.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "bench/push_ways.h"
#include "learner/apply/optimizer.h"

namespace starling::bench {

class MutexApply : public PushWay {
 public:
  MutexApply(const Config& config, std::span<const float> weights);

  std::uint64_t Push(std::size_t who, std::span<const float> gradient,
                     std::uint32_t samples) override;

 private:
  const learner::OptimizerSpec optimizer_;
  std::mutex mutex_;  // guards the members below and the writing of the snapshot
  Schedule schedule_;
  learner::Update update_;
  std::vector<float> weights_;
  std::vector<std::vector<float>> state_;
};

}  // namespace starling::bench
