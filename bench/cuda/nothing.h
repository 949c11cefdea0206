// A kernel that does nothing.
#pragma once

#include "core/cuda/each.h"

namespace starling::bench {

struct Nothing {
  HOST_DEVICE void operator()(long long) const {}
};

}  // namespace starling::bench
