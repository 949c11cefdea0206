#include "core/memory.h"

#include <malloc.h>

#include <cstring>
#include <new>

namespace starling {
namespace {

constexpr std::align_val_t kCacheLine{64};

class PlainMemory final : public HostSideMemory {
 public:
  void* Allocate(std::size_t bytes) override {
    void* const data = ::operator new(bytes, kCacheLine);
    Clear(data, bytes);
    return data;
  }
  void Free(void* data) noexcept override { ::operator delete(data, kCacheLine); }
};

}  // namespace

void HostSideMemory::Clear(void* to, std::size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
}

void HostSideMemory::Copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

Memory& HostMemory() {
  static PlainMemory memory;
  return memory;
}

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the largest value that glibc accepts
  ::mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
#endif
}

}  // namespace starling
