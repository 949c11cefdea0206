#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace starling {

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
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace starling
