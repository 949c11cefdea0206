// A zeroed array, aligned to a cache line and allocated once.
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
  // `memory` must outlive the buffer. Throws UserError if there is not enough memory.
  explicit Buffer(std::size_t size, Memory& memory = HostMemory())
      : size_(size), data_(static_cast<T*>(memory.Allocate(size * sizeof(T))), Freer{&memory}) {}
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }

  // Grows to at least `size` elements. Growing discards their values.
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
