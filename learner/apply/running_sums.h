// How an update changes the parameters that no optimizer trains, the running sums (net/running.h).
//
// An actor pushes the sums of an unroll, divided by the samples of a gradient, with each gradient
// of that unroll. An update has the mean of these, weighted by samples; those that were counted
// before are zeros in it (GradientRef::sums). Multiplied by the samples of the update, it is the
// sum of the actors' sums, however many gradients there are and however stale.
//
// Thread safety: pure functions; different slices may be updated in parallel.
#pragma once

#include <cstdint>
#include <span>

namespace starling::learner {

// The most values that the sums of a number stand for; from here on older ones count less and less.
inline constexpr double kSumsWindow = 1 << 24;

// sums += samples x mean, in double; then, if a number's count is above kSumsWindow, its sums are
// scaled down to that. Both hold the floats of numbers (net/running.h). REQUIRES: their sizes are
// equal, a multiple of 16.
void AddToSums(std::uint64_t samples, std::span<const float> mean, std::span<float> sums);

}  // namespace starling::learner
