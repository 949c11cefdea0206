#include "core/heap.h"

#include <malloc.h>

namespace starling {

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // as much as it takes
  ::mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
#endif
}

}  // namespace starling
