// The hash XXH64, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), for a
// build without its library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace starling::bare {

std::uint64_t Xxh64(const void* data, std::size_t size, std::uint64_t seed);

}  // namespace starling::bare
