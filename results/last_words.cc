#include "results/last_words.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/log.h"

namespace starling::results {
namespace {

// Of "12:34:56.789 error fleet: text" the text; of any other line all of it.
std::string Text(const std::string& line) {
  if (!LevelOf(line)) return line;
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

bool IsError(const std::string& line) { return LevelOf(line) == LogLevel::kError; }

// What `starling train` and `starling simulate` print before and after all else: headlines, and lines
// that are set in.
bool IsSummary(const std::string& line) {
  constexpr std::array<std::string_view, 7> kBegins = {
      "  ",          "failed after ", "interrupted after ", "training ",
      "simulating ", "simulated ",    "going on with "};
  return line.empty() || std::ranges::any_of(kBegins, [&](std::string_view begin) {
           return line.starts_with(begin);
         });
}

bool IsMessage(const std::string& line) { return !LevelOf(line) && !IsSummary(line); }

bool IsFleets(const std::string& line) { return line.find(" fleet: ") != std::string::npos; }

// `lines` ends with an error.
std::string Explained(std::span<const std::string> lines) {
  std::string error = Text(lines.back());
  error = error.substr(0, error.find("; it would have been: "));  // a summary, in all its length
  const std::span<const std::string> before = lines.first(lines.size() - 1);
  const auto last = [&](auto of_kind) {
    const auto found = std::find_if(before.rbegin(), before.rend(), of_kind);
    return found == before.rend() ? "" : Text(*found);
  };
  if (error.find("its message is above") != std::string::npos) {
    const std::string message = last(IsMessage);
    return message.empty() ? error : message;
  }
  if (error.find("ended with exit status") == std::string::npos) return error;
  const std::string cause =
      last([](const std::string& line) { return IsError(line) && !IsFleets(line); });
  return cause.empty() ? error : error + ": " + cause;
}

// The last few messages at the end, before any summary: an operator's mistakes come together.
std::string Messages(std::span<const std::string> lines) {
  constexpr std::size_t kMost = 3;
  std::size_t end = lines.size();
  while (end > 0 && IsSummary(lines[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kMost && IsMessage(lines[begin - 1])) --begin;
  if (begin == end) return end > 0 ? Text(lines[end - 1]) : "";
  std::string text;
  for (const std::string& line : lines.subspan(begin, end - begin)) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

}  // namespace

std::string LastWords(std::span<const std::string> lines) {
  for (std::size_t end = lines.size(); end > 0; --end) {
    if (IsError(lines[end - 1])) return Explained(lines.first(end));
  }
  return Messages(lines);
}

std::string Trouble(const ChildExit& exit, std::span<const std::string> lines) {
  if (exit.how != ChildExit::How::kExited) return Describe(exit);
  if (exit.code == kExitDone) return "";
  if (exit.code == kExitInterrupted) return "it was interrupted, and not by us";
  const std::string words = LastWords(lines);
  return words.empty() ? Describe(exit) : words;
}

bool IsStop(const ChildExit& exit) {
  if (exit.how == ChildExit::How::kKilled) return exit.code == SIGTERM;
  return exit.how == ChildExit::How::kExited &&
         (exit.code == kExitDone || exit.code == kExitInterrupted);
}

std::vector<std::string> Warnings(std::span<const std::string> lines) {
  std::vector<std::string> warnings;
  for (const std::string& line : lines) {
    const std::optional<LogLevel> level = LevelOf(line);
    if (level && *level >= LogLevel::kWarn) warnings.push_back(line);
  }
  return warnings;
}

std::string LastError(std::span<const std::string> log_lines) {
  for (std::size_t end = log_lines.size(); end > 0; --end) {
    const std::string& line = log_lines[end - 1];
    if (!LevelOf(line)) continue;
    if (IsError(line) && IsFleets(line)) {
      return Explained(log_lines.first(end));
    }
    if (line.find(" fleet: learner started") != std::string::npos) return "";
  }
  return "";
}

}  // namespace starling::results
