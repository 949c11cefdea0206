#include "learner/apply/applier.h"

#include <xxhash.h>

#include <utility>

#include "core/check.h"
#include "learner/apply/hogwild.h"
#include "learner/apply/lanes.h"

namespace starling::learner {
namespace {

void Scale(std::size_t n, float weight, const float* __restrict values, float* __restrict sum) {
  for (std::size_t i = 0; i < n; ++i) sum[i] = weight * values[i];
}
void AddScaled(std::size_t n, float weight, const float* __restrict values, float* __restrict sum) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += weight * values[i];
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

const float* SumGradients(const std::vector<GradientRef>& gradients, std::size_t offset,
                          std::size_t n, float* room) {
  const float* first = gradients[0].values.data() + offset;
  if (gradients.size() == 1 && gradients[0].weight == 1) return first;
  Scale(n, gradients[0].weight, first, room);
  for (std::size_t k = 1; k < gradients.size(); ++k) {
    AddScaled(n, gradients[k].weight, gradients[k].values.data() + offset, room);
  }
  return room;
}

void Admit(Update& update, std::uint64_t submitted, std::size_t size) {
  CHECK(update.version == submitted + 1, "version {} after {}", update.version, submitted);
  CHECK(update.meta.version == update.version, "meta of version {}", update.meta.version);
  CHECK(!update.gradients.empty(), "an update without gradients");
  for (const GradientRef& gradient : update.gradients) {
    CHECK(gradient.values.size() == size, "a gradient of {}", gradient.values.size());
  }
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
