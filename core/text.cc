#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace starling {
namespace {

bool IsControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

constexpr std::size_t kMaxLength = 200;  // a longer name is no slip, and the search is quadratic

std::string Plain(std::string_view word) {
  std::string plain(word);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return plain;
}

// Dynamic programming: row[j] is the distance of a[0, i) from b[0, j). Keeps the last three rows.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Returns the number of bytes of a character that begins with `first`, or 0 if none does.
std::size_t Length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC0) return 0;  // a continuation byte
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF8 ? 4 : 0;
}

// Returns the number of bytes of the character at the start of `bytes`, or 0 if there is none.
std::size_t CharacterAt(std::string_view bytes) {
  // The smallest code that needs so many bytes.
  constexpr std::array<std::uint32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = Length(first);
  if (length <= 1) return length;
  if (bytes.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (const char c : bytes.substr(1, length - 1)) {
    if ((c & 0xC0) != 0x80) return 0;  // a continuation byte is expected
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kMin[length] || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

std::string HumanCount(double count) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, name] : kUnits) {
    // 999 600 would be printed as "1000k": it belongs to the next unit already.
    if (count < unit * 0.9995) continue;
    const double value = count / unit;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}{}", value, decimals, name);
  }
  return fmt::format("{:.0f}", count);
}

std::string HumanTime(double seconds) {
  constexpr double kMaxSeconds = 999.0 * 86'400;
  const auto total = static_cast<std::int64_t>(std::clamp(seconds, 0.0, kMaxSeconds) + 0.5);
  const std::int64_t days = total / 86'400, hours = total / 3'600 % 24, minutes = total / 60 % 60;
  if (days > 0) return fmt::format("{}d {:02}:{:02}", days, hours, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

std::string Grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string Rounded(double number) {
  return Grouped(static_cast<std::uint64_t>(std::llround(number)));
}

std::string Plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Grouped(count), noun, count == 1 ? "" : "s");
}

bool IsOneLine(std::string_view text) { return std::ranges::none_of(text, IsControl); }

std::string Escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (IsControl(static_cast<unsigned char>(c))) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

std::string ShellQuoted(std::string_view path) {
  const std::string word = (path.starts_with('-') ? "./" : "") + std::string(path);
  const auto plain = [](char c) {
    return IsPlainWord({&c, 1}) || std::string_view("/:=,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

bool IsPlainWord(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// fmt::join warns with g++ 12 and fmt 9 at -O3.
std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string NearestName(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kMaxLength) return "";
  const std::string* nearest = nullptr;
  std::size_t least = kMaxLength;
  for (const std::string& name : known) {
    if (name.size() > kMaxLength) continue;
    const std::size_t distance = EditDistance(Plain(word), Plain(name));
    const std::size_t length = std::max(word.size(), name.size());
    const bool near = distance <= std::max<std::size_t>(length / 3, 1) && distance < length;
    if (near && distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    valid += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;  // 24 bits, the first byte at the top
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += digit <= count ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return text;
}

}  // namespace starling
