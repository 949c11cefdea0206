// The operator's screen: lines that stay, and below them one progress bar that is drawn over.
// Escape codes and \r go only to a terminal, colour only where NO_COLOR is not set.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/log.h"
#include "fleet/progress.h"

namespace starling::fleet {

struct ConsoleStyle {
  bool terminal = false;  // can move its cursor
  bool color = false;
  bool utf8 = false;
  std::optional<int> width;  // columns; nothing: ask the terminal, each time
};

// For what `fd` is, the environment (NO_COLOR, TERM) and the locale (LC_ALL, LC_CTYPE, LANG).
ConsoleStyle DetectStyle(int fd);

class Console {
 public:
  // `fd` is borrowed. Failed writes are ignored: a closed terminal must not end a run.
  Console(int fd, const ConsoleStyle& style) : fd_(fd), style_(style) {}
  ~Console() { Clear(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // A line that stays, above the bar. Control characters in it are replaced.
  void Print(std::string_view line, LogLevel level = LogLevel::kInfo);
  // Draws at most 5 times a second on a terminal, elsewhere a line every 5 s. `now_ms` is any
  // monotonic clock.
  void Show(const Progress& progress, std::int64_t now_ms);
  // Draws `bar` of that style over the last one: on a terminal only, at most 5 times a second.
  void Draw(const std::function<std::string(const ProgressStyle&)>& bar, std::int64_t now_ms);
  // Takes the bar away.
  void Clear();

 private:
  int Width() const;
  void Write(std::string_view bytes);

  const int fd_;
  const ConsoleStyle style_;
  std::string bar_;  // as it stands on the screen; empty: there is none
  std::optional<std::int64_t> shown_ms_;
};

}  // namespace starling::fleet
