// The mask of a relu, for the host and for a GPU.
#pragma once

#include <cstdint>

#include "core/cuda/each.h"

namespace starling::net {

// The gradient, or zero where relu_output is not positive. relu_output is nullptr: no mask.
template <class T>
HOST_DEVICE inline T Masked(const T* relu_output, std::int64_t at, T gradient) {
  return relu_output != nullptr && !(relu_output[at] > T(0)) ? T(0) : gradient;
}

}  // namespace starling::net
