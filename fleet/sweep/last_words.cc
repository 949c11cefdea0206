#include "fleet/sweep/last_words.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/log.h"
#include "fleet/run_log.h"

namespace starling::fleet {
namespace {

// Of "12:34:56.789 error fleet: text" the text; of any other line all of it.
std::string Text(const std::string& line) {
  if (!LevelOf(line)) return line;
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

bool IsError(const std::string& line) { return LevelOf(line) == LogLevel::kError; }

// What `starling train` prints at its end: a headline, and lines that are set in.
bool IsSummary(const std::string& line) {
  return line.empty() || line.starts_with("  ") || line.starts_with("failed after ") ||
         line.starts_with("interrupted after ");
}

// `lines` ends with an error.
std::string Explained(std::span<const std::string> lines) {
  const std::string error = Text(lines.back());
  if (error.find("its message is above") == std::string::npos) return error;
  for (std::size_t i = lines.size() - 1; i-- > 0;) {
    if (!LevelOf(lines[i]) && !IsSummary(lines[i])) return lines[i];
  }
  return error;
}

}  // namespace

std::string LastWords(std::span<const std::string> lines) {
  for (std::size_t end = lines.size(); end > 0; --end) {
    if (IsError(lines[end - 1])) return Explained(lines.first(end));
  }
  for (std::size_t end = lines.size(); end > 0; --end) {
    if (!IsSummary(lines[end - 1])) return Text(lines[end - 1]);
  }
  return "";
}

std::string LastError(std::span<const std::string> log_lines) {
  for (std::size_t end = log_lines.size(); end > 0; --end) {
    const std::string& line = log_lines[end - 1];
    if (!LevelOf(line)) continue;
    if (IsError(line) && line.find(" fleet: ") != std::string::npos) {
      return Explained(log_lines.first(end));
    }
    if (line.find(" fleet: learner started") != std::string::npos) return "";
  }
  return "";
}

}  // namespace starling::fleet
