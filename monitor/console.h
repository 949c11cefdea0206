// Output to the operator: the progress of a run as text, and the terminal that shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "learner/run_goal.h"
#include "learner/run_status.h"
#include "monitor/chart.h"  // RateMeter: the rate of MakeProgress
#include "monitor/redo_status.h"

namespace starling::monitor {

// ---- Progress as text, by pure functions (progress.cc): a bar that fits a terminal's width, and a
// plain line for other outputs

struct Progress {
  // kSaving: the last checkpoint is awaited. kSilent: the learner lives and does not report.
  // kRedoing: updates are done again before a learner goes on.
  enum class Phase : std::uint8_t { kStarting, kWaiting, kRunning, kSaving, kSilent, kRedoing };
  Phase phase = Phase::kStarting;
  std::uint64_t steps = 0, total = 0;
  double steps_per_second = 0;  // over the last ten seconds; 0: not known yet
  std::optional<double> mean_return;
  double until_return = kNever;  // learner::RunGoal
  double staleness_mean = 0;
  std::uint64_t staleness_max = 0;
  int actors_alive = 0, actors = 0;
  learner::SavingStatus saving{};  // at kSaving
  RedoStatus redo{};               // at kRedoing
};

// `status` is nullopt until the learner's first status line.
Progress MakeProgress(const std::optional<learner::RunStatus>& status, const learner::RunGoal& goal,
                      double steps_per_second, int actors);

struct ProgressStyle {
  int width = 80;      // columns of the terminal
  bool utf8 = false;   // block characters instead of # and -
  bool color = false;  // escape codes for colour
  int height = 24;     // rows of the terminal
};

// REQUIRES: steps_per_second > 0.
std::string TimeLeft(const Progress& progress);

// Returns a bar of so many columns, of which the first `fraction` is full.
std::string BarOf(double fraction, int columns, const ProgressStyle& style);

// Returns at most width - 1 columns, so that no terminal wraps it. Leaves out the least interesting
// parts first.
std::string ProgressBar(const Progress& progress, const ProgressStyle& style);

// Returns one plain line of any length.
std::string ProgressLine(const Progress& progress);

// ---- The terminal

struct ConsoleStyle {
  bool terminal = false;  // it can move its cursor
  bool color = false;
  bool utf8 = false;
  std::optional<int> width;     // columns; nullopt: asks the terminal before each drawing
  std::optional<int> height{};  // rows; likewise
  bool progress = true;         // false: no block, only lines that stay
};

// Returns the style for `fd`, the environment (NO_COLOR, TERM) and the locale (LC_ALL, LC_CTYPE,
// LANG).
ConsoleStyle DetectStyle(int fd);

// Lines that stay, and below them a block of lines, often a single bar, that is redrawn. Escape
// codes and \r go only to a terminal, colour only if NO_COLOR is not set. The terminal's modes,
// cursor and screen stay as they are, so a killed program leaves nothing to repair.
//
// A terminal that becomes narrower wraps the block (most do) or cuts it off (xterm). The console
// assumes that it was wrapped. After a cut a few lines above the block are therefore overwritten.
//
// Thread safety: one thread.
class Console {
 public:
  // Borrows `fd`. Ignores failed writes: a closed terminal must not end a run.
  Console(int fd, const ConsoleStyle& style) : fd_(fd), style_(style) {}
  ~Console() { Clear(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  using Lines = std::vector<std::string>;

  // Prints a line that stays, above the block. Replaces control characters in it.
  void Print(std::string_view line, LogLevel level = LogLevel::kInfo);
  // Draws the bar: at most 5 times a second on a terminal, elsewhere a line every 5 s. `now_ms` is
  // of any monotonic clock.
  void Show(const Progress& progress, std::int64_t now_ms);
  // Replaces the block by a bar: on a terminal only, at most 5 times a second.
  void Draw(const std::function<std::string(const ProgressStyle&)>& bar, std::int64_t now_ms);
  // Replaces the block by other lines; writes only those that changed. Returns false if it is too
  // early. REQUIRES: the lines fit the width and height of the style.
  bool DrawLines(const std::function<Lines(const ProgressStyle&)>& block, std::int64_t now_ms);
  // Draws the next block without waiting for its time.
  void Hurry() { shown_ms_.reset(); }
  // Leaves the block on the screen: later output stands below it.
  void Keep();
  // Removes the block.
  void Clear();

  bool terminal() const { return style_.terminal; }

 private:
  struct Size {
    int columns = 80, rows = 24;
    friend bool operator==(const Size&, const Size&) = default;
  };
  Size AskSize() const;
  // Moves the cursor from the end of the block to its first column and line.
  std::string ToTop(int columns) const;
  static std::string Whole(const Lines& lines);
  void Write(std::string_view bytes);

  const int fd_;
  const ConsoleStyle style_;
  Lines block_;  // on the screen, with the cursor behind its last line; empty: there is none
  Size size_;    // of the terminal when the block was drawn
  std::optional<std::int64_t> shown_ms_, whole_ms_;  // of the last drawing, and the last whole one
};

}  // namespace starling::monitor
