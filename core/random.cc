#include "core/random.h"

#include "core/check.h"

namespace starling {

using random_detail::kGolden;
using random_detail::Mix;
using random_detail::Split;

// Slot, life and env are words of the counter, and the key is a bijection of the seed for a
// given purpose and of the purpose for a given seed. So two different ids of a run never share a
// (key, counter) pair; ids of two runs share one only if two 64-bit mixes collide.
RandomStream::RandomStream(const StreamId& id)
    : key_(Split(Mix(Mix(id.seed + kGolden) + kGolden * static_cast<std::uint32_t>(id.purpose)))),
      counter_{0, id.slot, id.life, id.env} {}

void RandomStream::FailZeroBound() {
  CheckFailed(__FILE__, __LINE__, "bound >= 1", "Below(0) has no number to give");
}

}  // namespace starling
