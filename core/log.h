// One line per event on standard error: "12:34:56.789 warn  learner: text". Line breaks within a
// text are escaped. No colour if NO_COLOR is set or standard error is not a terminal. The
// supervisor collects its children's lines into the run's `log`.
//
// Thread safety: any thread may call any function, except InitLog: only while there is one thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace starling {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

// As lines of the log spell it, all of one width: "debug", "info ", "warn ", "error".
std::string_view LevelName(LogLevel level);

// The level of a line of the log ("12:34:56.789 warn  actor 3: text"), or nullopt if it is none.
std::optional<LogLevel> LevelOf(std::string_view line);

// Names this process in its lines ("learner", "actor 3") and sets the lowest level to print. Called
// once, early: earlier lines have no name.
void InitLog(std::string_view process, LogLevel lowest = LogLevel::kInfo);

void LogLine(LogLevel level, std::string_view text);

template <class... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void LogWarn(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

// Lines that a peer can provoke: prints at most `lines` of them in a period and counts the others.
// A period starts with the first line after the end of the last one.
//
// Thread safety: one thread at a time.
class RateLimitedLog {
 public:
  explicit RateLimitedLog(std::int64_t period_ms = 1000, int lines = 1)
      : period_ms_(period_ms), lines_(lines) {}

  // `now_ms` is any monotonic milliseconds clock.
  void Info(std::int64_t now_ms, std::string_view text) { Print(LogLevel::kInfo, now_ms, text); }
  void Warn(std::int64_t now_ms, std::string_view text) { Print(LogLevel::kWarn, now_ms, text); }
  void Error(std::int64_t now_ms, std::string_view text) { Print(LogLevel::kError, now_ms, text); }

 private:
  void Print(LogLevel level, std::int64_t now_ms, std::string_view text);

  std::int64_t period_ms_;
  int lines_;
  std::optional<std::int64_t> begin_ms_;  // of the period
  int printed_ = 0;                       // in it
  std::uint64_t left_out_ = 0;            // since the last line
};

}  // namespace starling
