#pragma once

#include <memory>
#include <span>

namespace starling::wire {

// Floats that stay where they are, and as they are, as long as `hold` lives.
struct HeldTensor {
  std::span<const float> values;
  std::shared_ptr<const void> hold;
};

}  // namespace starling::wire
