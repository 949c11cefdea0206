// Arrays, and where they are stored: in host memory or GPU memory (core/gpu.h).
//
// Work on GPU memory is asynchronous: it runs in the order in which it was queued and may still be
// pending when a call returns; plain loads and stores cannot reach the arrays. Work on host memory
// is complete when a call returns, and Write and Read of an array onto itself cost nothing.
//
// Thread safety: GPU memory belongs to the thread that opened the GPU; host memory to all threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace starling {

class Memory {
 public:
  virtual ~Memory() = default;

  virtual bool on_host() const = 0;  // whether plain loads and stores reach it
  // Host memory for the source of a Write and the destination of a Read.
  virtual Memory& host_side() = 0;

  // Zeroed and aligned to a cache line. Throws UserError if there is not enough memory.
  virtual void* Allocate(std::size_t bytes) = 0;
  virtual void Free(void* data) noexcept = 0;

  virtual void Clear(void* to, std::size_t bytes) = 0;
  virtual void Copy(void* to, const void* from, std::size_t bytes) = 0;  // within this memory
  // From host_side() to this memory and back. REQUIRES: until it is waited for (Wait, or
  // GpuWatch::Wait), `from` is not changed and `to` is not read.
  virtual void Write(void* to, const void* from, std::size_t bytes) = 0;
  virtual void Read(void* to, const void* from, std::size_t bytes) = 0;
  // Waits until all queued work is done. Throws if the GPU failed: UserError if its memory is full,
  // std::runtime_error if the GPU was lost.
  virtual void Wait() = 0;
};

// Memory that plain loads and stores reach.
class HostSideMemory : public Memory {
 public:
  bool on_host() const final { return true; }
  Memory& host_side() final { return *this; }
  void Clear(void* to, std::size_t bytes) final;
  void Copy(void* to, const void* from, std::size_t bytes) final;
  void Write(void* to, const void* from, std::size_t bytes) final { Copy(to, from, bytes); }
  void Read(void* to, const void* from, std::size_t bytes) final { Copy(to, from, bytes); }
  void Wait() final {}
};

Memory& HostMemory();

// Keeps freed memory in the process, up to 256 MiB, and serves allocations of up to 32 MiB from it.
// By default the C library returns large blocks to the system at once; in a process that receives
// hundreds of large messages a second the system then clears as many pages again. No effect unless
// the C library is GNU's.
void KeepFreedMemory();

// The same calls for whole arrays of equal size.
template <class T>
void Clear(Memory& memory, std::span<T> to) {
  memory.Clear(to.data(), to.size_bytes());
}
template <class T>
void Copy(Memory& memory, std::span<T> to, std::span<const T> from) {
  memory.Copy(to.data(), from.data(), from.size_bytes());
}
template <class T>
void Write(Memory& memory, std::span<T> to, std::span<const T> from) {
  memory.Write(to.data(), from.data(), from.size_bytes());
}
template <class T>
void Read(Memory& memory, std::span<T> to, std::span<const T> from) {
  memory.Read(to.data(), from.data(), from.size_bytes());
}

// A zeroed array, aligned to a cache line and allocated once.
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
