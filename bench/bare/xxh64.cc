#include "bench/bare/xxh64.h"

#include <array>
#include <bit>

namespace starling::bare {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu,
                        kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u,
                        kPrime5 = 0x27D4EB2F165667C5u;

// The bytes that are not yet hashed; numbers are little-endian.
struct Rest {
  const unsigned char* at;
  std::size_t size;

  std::uint64_t Take(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{at[i]} << (8 * i);
    at += bytes;
    size -= static_cast<std::size_t>(bytes);
    return value;
  }
};

std::uint64_t Round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

// Hashes blocks of 32 bytes in four lanes of 8 bytes each.
std::uint64_t Lanes(Rest& rest, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed,
                                        seed - kPrime1};
  while (rest.size >= 32) {
    for (std::uint64_t& lane : lanes) lane = Round(lane, rest.Take(8));
  }
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  return hash;
}

}  // namespace

std::uint64_t Xxh64(const void* data, std::size_t size, std::uint64_t seed) {
  Rest rest{static_cast<const unsigned char*>(data), size};
  std::uint64_t hash = size >= 32 ? Lanes(rest, seed) : seed + kPrime5;
  hash += size;
  while (rest.size >= 8) {
    hash = std::rotl(hash ^ Round(0, rest.Take(8)), 27) * kPrime1 + kPrime4;
  }
  if (rest.size >= 4) hash = std::rotl(hash ^ rest.Take(4) * kPrime1, 23) * kPrime2 + kPrime3;
  while (rest.size >= 1) hash = std::rotl(hash ^ rest.Take(1) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace starling::bare
