#include "learner/apply/applier.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "learner/apply/hogwild.h"
#include "learner/apply/lanes.h"
#include "learner/apply/running_sums.h"

namespace starling::learner {
namespace {

void Scale(std::size_t n, float weight, const float* __restrict values, float* __restrict sum) {
  for (std::size_t i = 0; i < n; ++i) sum[i] = weight * values[i];
}
void AddScaled(std::size_t n, float weight, const float* __restrict values, float* __restrict sum) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += weight * values[i];
}

// Returns how many floats of [offset, offset + n) the gradient has.
std::size_t Reach(const GradientRef& gradient, std::size_t offset, std::size_t n) {
  return std::clamp(gradient.values.size(), offset, offset + n) - offset;
}

}  // namespace

std::unique_ptr<Applier> MakeApplier(ApplyMode mode, const ApplierSpec& spec,
                                     std::span<const float> weights,
                                     std::span<const std::vector<float>> state,
                                     wire::SnapshotWriter& snapshot,
                                     const wire::SnapshotMeta& initial,
                                     std::function<void()> on_progress) {
  if (mode == ApplyMode::kHogwild) {
    return std::make_unique<Hogwild>(spec, weights, state, snapshot, initial,
                                     std::move(on_progress));
  }
  return std::make_unique<Lanes>(spec, weights, state, snapshot, initial, std::move(on_progress));
}

std::uint64_t HashWeights(std::span<const float> weights, std::size_t first_group) {
  CHECK(weights.size() % kGroup == 0, "{} weights", weights.size());
  std::uint64_t hash = 0;
  for (std::size_t group = 0; group < weights.size() / kGroup; ++group) {
    hash +=
        XXH3_64bits_withSeed(&weights[group * kGroup], kGroup * sizeof(float), first_group + group);
  }
  return hash;
}

void Applier::SumAhead(Update* part) { CHECK(false, "version {}", part->version); }

void LeaveOutSums(std::size_t size, std::size_t trained, std::vector<GradientRef>& gradients) {
  for (GradientRef& gradient : gradients) {
    CHECK(gradient.values.size() == size, "a gradient of {}", gradient.values.size());
    if (!gradient.sums) gradient.values = gradient.values.first(std::min(trained, size));
  }
}

void AddGradients(const std::vector<GradientRef>& gradients, std::size_t offset, std::size_t n,
                  bool begun, float* sum, GradientMender* mender) {
  for (const GradientRef& gradient : gradients) {
    const std::size_t has = Reach(gradient, offset, n);
    const bool mends = mender && gradient.staleness > 0 && has > 0;
    const float* const values =
        mends ? mender->Mend(gradient, offset, has) : gradient.values.data() + offset;
    begun ? AddScaled(has, gradient.weight, values, sum) : Scale(has, gradient.weight, values, sum);
    if (!begun) std::fill(sum + has, sum + n, 0.0f);
    begun = true;
  }
}

float MeanFactor(const Update& update) {
  double weight = update.weight_before;
  for (const GradientRef& gradient : update.gradients) weight += gradient.weight;
  return static_cast<float>(1 / weight);
}

const float* MeanGradient(const Update& update, float factor, const float* before,
                          std::size_t offset, std::size_t n, float* room, GradientMender* mender) {
  const bool alone =
      !before && update.gradients.size() == 1 && (!mender || update.gradients[0].staleness == 0);
  if (alone && Reach(update.gradients[0], offset, n) == n) {
    return update.gradients[0].values.data() + offset;
  }
  if (before) std::copy_n(before, n, room);
  AddGradients(update.gradients, offset, n, before != nullptr, room, mender);
  for (std::size_t i = 0; i < n; ++i) room[i] *= factor;
  return room;
}

void ApplyTo(const ApplierSpec& spec, const Update& update, const StepSize& step,
             std::size_t offset, const float* gradient, std::span<float> weights,
             std::span<std::span<float>> state) {
  const std::size_t n = weights.size(), end = std::clamp(spec.trained, offset, offset + n);
  const std::size_t trained = end - offset;
  if (trained < n) {
    AddToSums(update.samples, {gradient + trained, n - trained}, weights.subspan(trained));
    for (std::span<float>& slot : state) slot = slot.first(trained);
  }
  ApplyUpdate(spec.optimizer, step, {gradient, trained}, weights.first(trained), state);
}

void Admit(const ApplierSpec& spec, Update& update, std::uint64_t submitted) {
  CHECK(update.version == submitted + 1, "version {} after {}", update.version, submitted);
  CHECK(update.meta.version == update.version, "meta of version {}", update.meta.version);
  CHECK(!update.gradients.empty() || update.weight_before > 0, "an update without gradients");
  LeaveOutSums(spec.size, spec.trained, update.gradients);
  if (update.capture) update.capture_sized = std::make_unique<std::once_flag>();
}

StateCopy& CaptureOf(Update& update, std::size_t size, std::size_t slots) {
  std::call_once(*update.capture_sized, [&] {
    update.capture->weights.resize(size);
    update.capture->state.resize(slots);
    for (auto& slot : update.capture->state) slot.resize(size);
  });
  return *update.capture;
}

}  // namespace starling::learner
