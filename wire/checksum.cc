#include <array>
#include <cstring>

#include "core/check.h"
#include "wire/codec.h"

// xxHash is compiled into this file for the target processor: twice as fast as the distribution's
// portable library. g++ 12 warns of the undefined operands in its own AVX-512 intrinsics.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace starling::wire {

std::uint64_t TensorDigest(std::span<const std::byte> tensor) {
  return tensor.empty() ? 0 : XXH3_64bits(tensor.data(), tensor.size());
}

std::uint64_t Checksum(std::span<const std::byte> header, std::span<const std::byte> fields,
                       std::uint64_t tensor_digest) {
  CHECK(header.size() == kHeaderBytes, "{} bytes", header.size());
  std::array<std::byte, kHeaderBytes> cleared;
  std::memcpy(cleared.data(), header.data(), kHeaderBytes);
  std::memset(cleared.data() + kHeaderBytes - sizeof(std::uint64_t), 0, sizeof(std::uint64_t));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, cleared.data(), cleared.size());
  if (!fields.empty()) XXH3_64bits_update(&state, fields.data(), fields.size());
  XXH3_64bits_update(&state, &tensor_digest, sizeof tensor_digest);
  return XXH3_64bits_digest(&state);
}

}  // namespace starling::wire
