#include "bench/bare/format.h"

#include <algorithm>
#include <array>
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
  const int precision = spec.precision;
  if (spec.type == 'f')
    return Digits(value, std::chars_format::fixed, precision < 0 ? 6 : precision);
  if (spec.type == 'e') {
    return Digits(value, std::chars_format::scientific, precision < 0 ? 6 : precision);
  }
  if (spec.type == 'g' || precision >= 0) {
    return Digits(value, std::chars_format::general, precision < 0 ? 6 : precision);
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

}  // namespace starling::bare
