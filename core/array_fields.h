// The fields of an array (core/state_bytes.h) in host memory or GPU memory.
#pragma once

#include <span>
#include <type_traits>

#include "core/memory.h"
#include "core/state_bytes.h"

namespace starling {

// Numbers of which any value is legal, or objects with fields. Waits for `memory`.
template <class T>
void ArrayFields(StateBytes& state, Memory& memory, std::span<T> there) {
  Buffer<T> here(there.size(), memory.host_side());
  Read<T>(memory, here.span(), there);
  memory.Wait();
  if constexpr (std::is_arithmetic_v<T>) {
    state.Array(here.span());
  } else {
    for (T& value : here.span()) state(value);
  }
  if (!state.reading()) return;
  Write<T>(memory, there, here.span());
  memory.Wait();
}

}  // namespace starling
