#include "learner/newest_weights.h"

#include <memory>
#include <utility>

namespace starling::learner {

bool NewestWeights::Refresh() {
  if (meta_.term != 0 && reader_.Latest() == meta_.version) return true;
  const std::size_t floats = reader_.floats();
  auto values = std::make_shared_for_overwrite<float[]>(floats);
  if (!reader_.Read(0, {values.get(), floats}, meta_)) {
    meta_ = {};
    return false;
  }
  values_ = {std::move(values), floats};
  return true;
}

}  // namespace starling::learner
