#include "bench/bare/libraries.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace starling::bare {
namespace {

struct Spec {
  char fill = ' ', align = 0, type = 0;
  int width = 0, precision = -1;
  bool zeros = false;  // between the sign and the digits
};

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^'; }

// Takes a number from the front of `text`. Returns `otherwise` if there is none.
int TakeNumber(std::string_view& text, int otherwise) {
  int value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Reads `text`, which stands between the colon and the closing brace, into `spec`. Returns false if
// it is not understood.
bool Parse(std::string_view text, Spec& spec) {
  const auto take = [&] {
    const char c = text.front();
    text.remove_prefix(1);
    return c;
  };
  if (text.size() >= 2 && IsAlign(text[1])) spec.fill = take();
  if (!text.empty() && IsAlign(text[0])) spec.align = take();
  if (text.starts_with('0')) spec.zeros = true, take();
  spec.width = TakeNumber(text, 0);
  if (text.starts_with('.')) take(), spec.precision = TakeNumber(text, -1);
  if (!text.empty()) spec.type = take();
  return text.empty();
}

template <class... Form>
std::string Digits(Form... form) {
  std::array<char, 512> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), form...);
  return error == std::errc() ? std::string(buffer.data(), end) : "{?}";
}

// The fewest digits that read back as the same number, without an exponent if that is small.
template <class T>
std::string Shortest(T value) {
  constexpr int kMinPower = -4, kMaxPower = 15;
  if (!std::isfinite(value)) return Digits(value);
  std::string text = Digits(value, std::chars_format::scientific);
  const std::size_t e = text.find('e');
  std::string_view exponent = std::string_view(text).substr(text[e + 1] == '+' ? e + 2 : e + 1);
  const int power = TakeNumber(exponent, 0);
  if (power < kMinPower || power > kMaxPower) return text;
  text.resize(e);
  std::erase(text, '.');
  const std::size_t digits = text.size() - (text.starts_with('-') ? 1 : 0);
  const auto whole = static_cast<std::size_t>(std::max(power, 0)) + 1;
  if (whole < digits || power < 0) return Digits(value, std::chars_format::fixed);
  return text + std::string(whole - digits, '0');
}

template <class T>
std::string Real(T value, const Spec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (spec.type == 'f') return Digits(value, std::chars_format::fixed, precision);
  if (spec.type == 'e') return Digits(value, std::chars_format::scientific, precision);
  if (spec.type == 'g' || spec.precision >= 0) {
    return Digits(value, std::chars_format::general, precision);
  }
  return Shortest(value);
}

std::string Text(const Value& value, const Spec& spec) {
  return std::visit(
      [&](auto v) -> std::string {
        using T = decltype(v);
        if constexpr (std::is_same_v<T, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, char>)
          return std::string(1, v);
        else if constexpr (std::is_floating_point_v<T>)
          return Real(v, spec);
        else if constexpr (std::is_integral_v<T>) {
          std::string digits = Digits(v, spec.type == 'x' || spec.type == 'X' ? 16 : 10);
          if (spec.type == 'X')
            std::ranges::transform(digits, digits.begin(), [](char c) {
              return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
            });
          return digits;
        } else
          return std::string(v.substr(0, static_cast<std::size_t>(spec.precision)));
      },
      value);
}

bool IsNumber(const Value& value) {
  return std::visit(
      [](auto v) {
        using T = decltype(v);
        return std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;
      },
      value);
}

std::string Padded(std::string text, const Spec& spec, bool number) {
  const auto width = static_cast<std::size_t>(spec.width);
  if (text.size() >= width) return text;
  const std::size_t missing = width - text.size();
  if (spec.zeros && number && spec.align == 0) {
    return text.insert(text.starts_with('-') ? 1 : 0, missing, '0');
  }
  const char align = spec.align != 0 ? spec.align : number ? '>' : '<';
  const std::size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  return std::string(left, spec.fill) + text + std::string(missing - left, spec.fill);
}

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

std::string Format(std::string_view pattern, std::span<const Value> values) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    // "{{" and "}}" are braces; "{...}" takes the next value.
    const bool twice = i + 1 < pattern.size() && pattern[i + 1] == c;
    if (c == '}' || (c == '{' && twice)) {
      out += c;
      i += twice ? 1 : 0;
    } else if (c == '{') {
      const std::size_t end = std::min(pattern.find('}', i), pattern.size());
      std::string_view inside = pattern.substr(i + 1, end - i - 1);
      Spec spec;
      if (inside.starts_with(':')) inside.remove_prefix(1);
      if (next < values.size() && Parse(inside, spec)) {
        out += Padded(Text(values[next], spec), spec, IsNumber(values[next]));
        ++next;
      } else {
        out += "{?}";
      }
      i = end;
    } else {
      out += c;
    }
  }
  return out;
}

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
