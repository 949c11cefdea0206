// Arrays that cross from one backend's memory to another's, through the host. On the processor the
// host's array is the array itself, and only Pass copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/memory.h"

namespace starling::actors {

template <class T>
class Outgoing {
 public:
  Outgoing() = default;
  // `there` is in `memory`; both must outlive this object.
  Outgoing(std::span<const T> there, Memory& memory)
      : memory_(&memory),
        there_(there),
        copy_(memory.on_host() ? 0 : there.size(), memory.host_side()) {}

  std::span<const T> host() const { return copy_.size() > 0 ? copy_.span() : there_; }
  // Queues a copy of elements [at, at + count) to the host; the caller waits.
  void Fetch(std::size_t at, std::size_t count) {
    if (copy_.size() == 0) return;
    Read<T>(*memory_, copy_.span().subspan(at, count), there_.subspan(at, count));
  }

 private:
  Memory* memory_ = nullptr;
  std::span<const T> there_{};
  Buffer<T> copy_{};
};

template <class T>
class Incoming {
 public:
  Incoming() = default;
  // `there` is in `memory`; both must outlive this object.
  Incoming(std::span<T> there, Memory& memory)
      : memory_(&memory),
        there_(there),
        copy_(memory.on_host() ? 0 : there.size(), memory.host_side()) {}

  // Copies elements [at, at + from.size()), which are in host memory.
  void Put(std::size_t at, std::span<const T> from) {
    const std::span<T> to = there_.subspan(at, from.size());
    if (copy_.size() == 0) {
      std::ranges::copy(from, to.begin());
      return;
    }
    const std::span<T> here = copy_.span().subspan(at, from.size());
    std::ranges::copy(from, here.begin());
    Write<T>(*memory_, to, here);
  }

 private:
  Memory* memory_ = nullptr;
  std::span<T> there_{};
  Buffer<T> copy_{};
};

// Elements [at, at + count) from the host's side of one to the other.
template <class T>
void Pass(const Outgoing<T>& from, Incoming<T>& to, std::size_t at, std::size_t count) {
  to.Put(at, from.host().subspan(at, count));
}

}  // namespace starling::actors
