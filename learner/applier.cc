#include "learner/applier.h"

#include <utility>

#include "core/check.h"
#include "learner/hogwild.h"
#include "learner/lanes.h"

namespace starling::learner {

std::unique_ptr<Applier> MakeApplier(std::string_view how, const ApplierSpec& spec,
                                     std::span<const float> weights,
                                     std::span<const std::vector<float>> state,
                                     wire::SnapshotWriter& snapshot,
                                     const wire::SnapshotMeta& initial,
                                     std::function<void()> on_progress) {
  const auto make = [&]<class Kind>(std::type_identity<Kind>) -> std::unique_ptr<Applier> {
    return std::make_unique<Kind>(spec, weights, state, snapshot, initial, std::move(on_progress));
  };
  if (how == "hogwild") return make(std::type_identity<Hogwild>());
  CHECK(how == "lanes", "learner.apply = {}", how);
  return make(std::type_identity<Lanes>());
}

}  // namespace starling::learner
