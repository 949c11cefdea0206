// Zeroed memory at a cache line, allocated once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace starling::net {

template <class T>
class Buffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  Buffer() = default;
  explicit Buffer(std::size_t size)
      : size_(size), data_(static_cast<T*>(::operator new(size * sizeof(T), kAlignment))) {
    std::fill_n(data_.get(), size, T(0));
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }

  // At least `size` elements; what they hold is lost if it has to grow.
  void Reserve(std::size_t size) {
    if (size > size_) *this = Buffer(size);
  }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace starling::net
