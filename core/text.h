// Numbers as people read and write them, UTF-8, and "did you mean ...?".
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace starling {

// ---- numbers

std::string HumanCount(double count);       // three digits: "999", "81.2k", "5.00M"
std::string HumanTime(double seconds);      // "0:07", "12:34", "1:02:03", "3d 04:05"
std::string Grouped(std::uint64_t number);  // "1,234,567"
std::string Rounded(double number);         // to an integer, grouped
// "1 run", "2,000 runs".
std::string Plural(std::size_t count, std::string_view noun);

// The whole of `text` as a number in `base`, digits only; nullopt if it is anything else or too
// large.
inline std::optional<std::uint64_t> ParseNumber(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// ---- lines

// Returns whether `text` has no control characters: no line breaks, no escape sequences.
bool IsOneLine(std::string_view text);

// Returns `text` with "\n" and "\x1b" in place of control characters, for a message on one line.
std::string Escaped(std::string_view text);

// Returns `path` as a word for a command to paste into a shell: quoted where a shell needs it, with
// "./" before a leading dash, which would make it an option.
std::string ShellQuoted(std::string_view path);

// ---- names

// Returns whether `text` has only letters and digits of ASCII, '-', '_' and '.'.
bool IsPlainWord(std::string_view text);

// "catch, dummy, minatar/breakout".
std::string Listed(const std::vector<std::string>& names);

// Returns the member of `known` with the smallest distance from `word`, the first of equals, or ""
// if the distance is more than a third of its letters. The distance is the number of letters
// inserted, dropped, replaced or swapped with their neighbour (optimal string alignment); it
// ignores case and the difference between '-' and '_'.
std::string NearestName(std::string_view word, const std::vector<std::string>& known);

// Returns `; did you mean "..."?` for the end of a sentence, or "" if no name is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// Bytes as base64 (RFC 4648, section 4), padded.
std::string Base64(std::string_view bytes);

// ---- UTF-8

// Returns whether `text` is UTF-8 as TOML and JSON accept it: no overlong encodings, no surrogates,
// nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// Returns `text` with U+FFFD in place of each byte that belongs to no character.
std::string ToUtf8(std::string_view text);

}  // namespace starling
