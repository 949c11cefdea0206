#include "mirror/all_reduce.h"

#include <algorithm>

#include "learner/apply/applier.h"

namespace starling::mirror {

AllReduce::AllReduce(World& world, std::size_t floats, std::size_t trained, NumberType type)
    : world_(world),
      trained_(trained),
      type_(type),
      slices_(wire::CutIntoSlices(floats, static_cast<std::size_t>(world.size()))),
      slice_(slices_[static_cast<std::size_t>(world.rank())]),
      own_(floats),
      mean_(floats),
      parts_(slices_.size() * slice_.size) {
  if (type_ != NumberType::kBf16) return;
  narrow_.resize(floats);
  narrow_parts_.resize(parts_.size());
}

std::span<const float> AllReduce::Mean(std::span<const learner::Received> gradients) {
  // 1. This rank's slice of every gradient.
  Spread();
  learner::Update update;
  const std::uint32_t first = gradients.front().body.samples;
  for (const learner::Received& gradient : gradients) {
    const std::size_t at = gradient.header.slot * slice_.size;
    update.gradients.push_back({.values = std::span(parts_).subspan(at, slice_.size),
                                .weight = learner::RelativeWeight(gradient.body.samples, first),
                                .sums = gradient.steps > 0});
  }
  learner::LeaveOutSums(slice_.size, slice_.Before(trained_), update.gradients);
  // 2. Their mean.
  const float factor = learner::MeanFactor(update);
  for (std::size_t at = 0; at < slice_.size; at += learner::kApplyBlock) {
    const std::size_t n = std::min(learner::kApplyBlock, slice_.size - at);
    float* to = &mean_[slice_.begin + at];
    const float* mean = learner::MeanGradient(update, factor, nullptr, at, n, to);
    if (mean != to) std::copy_n(mean, n, to);
  }
  // 3. That of all slices.
  world_.Join(reinterpret_cast<std::byte*>(mean_.data()), slices_, sizeof(float));
  return mean_;
}

// A gradient is rounded already: narrowing it changes nothing.
void AllReduce::Spread() {
  if (type_ == NumberType::kF32) {
    return world_.Spread(reinterpret_cast<const std::byte*>(own_.data()), slices_,
                         reinterpret_cast<std::byte*>(parts_.data()), sizeof(float));
  }
  ToBfloat16(static_cast<int>(own_.size()), own_.data(), narrow_.data());
  world_.Spread(reinterpret_cast<const std::byte*>(narrow_.data()), slices_,
                reinterpret_cast<std::byte*>(narrow_parts_.data()), sizeof(Bfloat16));
  std::ranges::transform(narrow_parts_, parts_.begin(), FromBfloat16);
}

}  // namespace starling::mirror
