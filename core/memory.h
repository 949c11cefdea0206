// Where arrays lie and how they are moved: in the host's memory, or in that of a GPU (core/gpu.h).
//
// Arrays of another memory than the host's must not be looked at; what is to be done with them is done
// in the order in which it was asked for, and may still be under way when a call returns. The host's
// is never: there, every call has done its work, and moving an array to where it is costs nothing.
//
// Thread safety: a GPU's belongs to the thread that opened it; the host's to all.
#pragma once

#include <cstddef>
#include <span>

namespace starling {

class Memory {
 public:
  virtual ~Memory() = default;

  virtual bool on_host() const = 0;  // whether plain loads and stores reach it
  // Of the host, for arrays that are moved to or from this memory.
  virtual Memory& host_side() = 0;

  // Zeroed, at a cache line. Throws UserError if there is not so much.
  virtual void* Allocate(std::size_t bytes) = 0;
  virtual void Free(void* data) noexcept = 0;

  virtual void Clear(void* to, std::size_t bytes) = 0;
  virtual void Copy(void* to, const void* from, std::size_t bytes) = 0;  // both here
  // From host_side() to here and back; until the next Wait `from` stays as it is, `to` unread.
  virtual void Write(void* to, const void* from, std::size_t bytes) = 0;
  virtual void Read(void* to, const void* from, std::size_t bytes) = 0;
  // Until everything asked for is done. Throws if the GPU failed at it: UserError if it was full,
  // std::runtime_error if it was lost.
  virtual void Wait() = 0;
};

Memory& HostMemory();

// Whole arrays of equal size; names as above.
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

}  // namespace starling
