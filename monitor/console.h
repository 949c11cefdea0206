// The operator's screen: lines that stay, and below them a block of lines, often a single bar, that
// is drawn over. Escape codes and \r go only to a terminal, colour only where NO_COLOR is not set.
// The terminal's modes, its cursor and its screen are left as they are: a program that is killed
// leaves nothing to repair.
//
// A terminal that was made narrower has wrapped the block (most do) or cut it off (xterm). It is
// taken as wrapped: nothing of it remains, and where it was cut off, some of the lines above it on
// the screen are drawn over.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "monitor/progress.h"

namespace starling::monitor {

struct ConsoleStyle {
  bool terminal = false;  // can move its cursor
  bool color = false;
  bool utf8 = false;
  std::optional<int> width;     // columns; nothing: ask the terminal, each time
  std::optional<int> height{};  // rows; likewise
  bool progress = true;         // false: only lines that stay
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

  using Lines = std::vector<std::string>;

  // A line that stays, above the block. Control characters in it are replaced.
  void Print(std::string_view line, LogLevel level = LogLevel::kInfo);
  // The bar: at most 5 times a second on a terminal, elsewhere a line every 5 s. `now_ms` is any
  // monotonic clock.
  void Show(const Progress& progress, std::int64_t now_ms);
  // Draws a bar of that style over the block: on a terminal only, at most 5 times a second.
  void Draw(const std::function<std::string(const ProgressStyle&)>& bar, std::int64_t now_ms);
  // Likewise a block of lines, none wider or higher than the style says; only those that have
  // changed are written. False if it was not time yet.
  bool DrawLines(const std::function<Lines(const ProgressStyle&)>& block, std::int64_t now_ms);
  // The next block is drawn however short ago the last one was.
  void Hurry() { shown_ms_.reset(); }
  // What was drawn stays where it is; what comes next stands below it.
  void Keep();
  // Takes the block away.
  void Clear();

  bool terminal() const { return style_.terminal; }

 private:
  struct Size {
    int columns = 80, rows = 24;
    friend bool operator==(const Size&, const Size&) = default;
  };
  Size AskSize() const;
  // To the first column of the block's first line, from behind its last.
  std::string ToTop(int columns) const;
  static std::string Whole(const Lines& lines);
  void Write(std::string_view bytes);

  const int fd_;
  const ConsoleStyle style_;
  Lines block_;  // as it stands on the screen, the cursor behind it; empty: there is none
  Size size_;    // when it was drawn
  std::optional<std::int64_t> shown_ms_, whole_ms_;  // drawn at all; all of it
};

}  // namespace starling::monitor
