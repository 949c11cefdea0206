#include "learner/apply/applier.h"

#include <utility>

#include "learner/apply/hogwild.h"
#include "learner/apply/lanes.h"

namespace starling::learner {

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

}  // namespace starling::learner
