#include "learner/apply/training_state.h"

#include <utility>

namespace starling::learner {

TrainingState CutOut(TrainingState whole, wire::Slice slice) {
  const auto cut = [slice](std::vector<float>& floats) {
    if (slice.size == floats.size()) return;
    const auto begin = floats.begin() + static_cast<std::ptrdiff_t>(slice.begin);
    floats = std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(slice.size));
  };
  cut(whole.weights);
  for (std::vector<float>& slot : whole.optimizer_state) cut(slot);
  return whole;
}

}  // namespace starling::learner
