// One line per event on standard error: "12:34:56.789 warn  learner: text". Line breaks within a
// text are escaped. No colour if NO_COLOR is set or standard error is not a terminal. The
// supervisor collects its children's lines into the run's `log`.
//
// Thread safety: any thread may call any function, except InitLog: only while there is one thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace starling {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

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

// Warnings that a peer can provoke: prints at most one per `period_ms` and counts the others.
// Thread safety: one thread at a time.
class RateLimitedLog {
 public:
  explicit RateLimitedLog(std::int64_t period_ms = 1000) : period_ms_(period_ms) {}
  // `now_ms` is any monotonic milliseconds clock.
  void Warn(std::int64_t now_ms, std::string_view text);

 private:
  std::int64_t period_ms_;
  std::int64_t next_ms_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t suppressed_ = 0;
};

}  // namespace starling
