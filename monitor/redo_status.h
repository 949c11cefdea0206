// What `starling replay --write` tells the supervisor that started it: lines such as "120 3000".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"

namespace starling::monitor {

struct RedoStatus {
  std::uint64_t done = 0, updates = 0;
  friend bool operator==(const RedoStatus&, const RedoStatus&) = default;
};

inline std::string ToLine(const RedoStatus& redo) {
  return fmt::format("{} {}\n", redo.done, redo.updates);
}
// Returns nullopt if `line`, without its line break, is none.
inline std::optional<RedoStatus> ParseRedoStatus(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto done = ParseNumber(line.substr(0, space)),
             updates = ParseNumber(line.substr(space + 1));
  if (!done || !updates) return std::nullopt;
  return RedoStatus{*done, *updates};
}

}  // namespace starling::monitor
