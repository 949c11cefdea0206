// A zeroed array at a cache line, allocated once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "core/memory.h"

namespace starling {

template <class T>
class Buffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  Buffer() = default;
  // In `memory`, which must outlive it. Throws UserError if there is not so much.
  explicit Buffer(std::size_t size, Memory& memory = HostMemory())
      : size_(size), data_(static_cast<T*>(memory.Allocate(size * sizeof(T))), Freer{&memory}) {}
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }

  // At least `size` elements; what they hold is lost if it has to grow.
  void Reserve(std::size_t size) {
    if (size > size_) *this = Buffer(size, *data_.get_deleter().memory);
  }

 private:
  struct Freer {
    Memory* memory = &HostMemory();
    void operator()(T* data) const { memory->Free(data); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<T, Freer> data_;
};

}  // namespace starling
