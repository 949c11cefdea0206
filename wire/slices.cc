#include "wire/slices.h"

#include "core/check.h"

namespace starling::wire {

std::vector<Slice> CutIntoSlices(std::size_t floats, std::size_t count) {
  constexpr std::size_t kGroup = 16;  // a cache line
  CHECK(floats % kGroup == 0 && count > 0, "{} floats for {} shards", floats, count);
  const std::size_t groups = floats / kGroup;
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = groups * i / count * kGroup;
    slices.push_back({.begin = begin, .size = groups * (i + 1) / count * kGroup - begin});
  }
  return slices;
}

}  // namespace starling::wire
