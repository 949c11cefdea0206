// The parts of libraries that an actor's sources use, for a build without them.
//
// Thread safety: pure functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace starling::bare {

using Value =
    std::variant<bool, char, long long, unsigned long long, float, double, std::string_view>;

template <class T>
Value ValueOf(const T& value) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, char> || std::floating_point<T>) {
    return value;
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<long long>(value);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<unsigned long long>(value);
  } else {
    return std::string_view(value);
  }
}

// As fmt::format for {} and {[[fill]align][0][width][.precision][type]}, align of "<>^", type of
// "defgsxX". Widths count bytes. Writes "{?}" for a field that fmt would not compile.
std::string Format(std::string_view pattern, std::span<const Value> values);

// The hash XXH64, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
std::uint64_t Xxh64(const void* data, std::size_t size, std::uint64_t seed);

}  // namespace starling::bare
