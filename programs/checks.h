// Checks of the values of options, for all programs: each refuses in a sentence that CLI11 begins
// with the name of the option. Those that also change the value are for Option::transform; after
// Option::check it would be unchanged.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace starling::programs {

// The path of a file or directory, in any state. Puts "./" before a leading dash: our own children
// would take the path for an option.
inline CLI::Validator IsPath() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "it is empty; name a file or directory";
            if (!IsOneLine(text)) return "\"" + Escaped(text) + "\" has control characters";
            if (text.starts_with('-')) text.insert(0, "./");
            return "";
          },
          ""};
}

// An integer of [low, high], in decimal digits. CLI11's own range reads 010 as 8, and a number that
// overflows as the largest.
inline CLI::Validator IsInteger(std::int64_t low, std::int64_t high) {
  return {[low, high](std::string& text) -> std::string {
            std::int64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error != std::errc() || stop != end || number < low || number > high) {
              return fmt::format("\"{}\" is not an integer from {} to {}", Escaped(text), low,
                                 high);
            }
            text = std::to_string(number);
            return "";
          },
          fmt::format("INT in [{} - {}]", low, high)};
}

// A number of seconds of [low, high]: not nan, for which CLI11's own range is no limit.
inline CLI::Validator IsSeconds(double low, double high) {
  return {[low, high](const std::string& text) -> std::string {
            double number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc() && stop == end && number >= low && number <= high) return "";
            return fmt::format("\"{}\" is not a number of seconds from {} to {}", Escaped(text),
                               low, high);
          },
          fmt::format("FLOAT in [{} - {}]", low, high)};
}

// Prints an error of one line or more on standard error. A terminal would obey control characters
// that it quotes.
inline void PrintError(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::fprintf(stderr, "%s\n", Escaped(line).c_str());
  }
}

// Flushes standard output. Returns `status`, or kExitFailed if a result could not be written (a
// full disk behind a redirection).
inline int Flushed(const char* program, int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return status;
  std::fprintf(stderr, "%s: standard output cannot be written\n", program);
  return status == kExitDone ? kExitFailed : status;
}

}  // namespace starling::programs
