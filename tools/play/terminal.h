// The terminal of a person who plays: its raw keys, and pictures as its lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envs/picture.h"

namespace starling::play {

// Holds the terminal while a person plays: raw keys and the alternate screen. Restores both on
// destruction (so also on an exception), and in the handlers of the signals that end a process.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT: the first makes stop_fd() readable, a second one restores
// the terminal and ends the process. SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL: restore and end
// at once.
//
// Thread safety: one thread. There is at most one Terminal at a time.
class Terminal {
 public:
  // Borrows `in` and `out`. Throws UserError unless both are a terminal that can move its cursor.
  Terminal(int in, int out);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int in() const { return in_; }
  int stop_fd() const;  // readable after a signal to stop

  struct Size {
    int columns = 80, rows = 24;
  };
  Size size() const;  // now

  // Waits for input and returns it; "" if the terminal is closed.
  std::string Read();
  // Waits until all is written. Returns false if the terminal is closed, or after a signal to stop.
  bool Write(std::string_view bytes);

 private:
  const int in_, out_;
};

// ---- Pictures as text (screen_text.cc)
//
// Turns pictures into lines of text, by pure functions.
//
// With colours a character shows two pixels, one above the other (the upper half block): 84 x 84
// takes 84 columns and 42 lines. Without colours a cell of a grid is a letter, a = channel 0, and a
// picture consists of characters whose density is its brightness.

enum class Palette { kNone, k256, k24Bit };

// Returns the palette of the terminal by NO_COLOR and COLORTERM. Colours need `utf8`
// (monitor/console.h), which has the half block.
Palette DetectPalette(bool utf8);

// Returns the image in at most `lines` lines of `columns` columns, enlarged by a whole factor or
// shrunk to fit. Each line ends by resetting the colours. REQUIRES: columns >= 1, lines >= 1.
std::vector<std::string> ColorLines(const envs::Image& image, Palette palette, int columns,
                                    int lines);

// Returns the newest frame of env 0 without colours, likewise.
std::vector<std::string> PlainLines(const envs::FrameEnvs& envs, int columns, int lines);

// Redraws only the lines that changed.
class LineScreen {
 public:
  // Returns the bytes for the terminal, whose size is `columns` x `rows`. Draws everything the
  // first time and after a change of the size. Leaves out lines beyond `rows`.
  std::string Update(const std::vector<std::string>& lines, int columns, int rows);

 private:
  int columns_ = 0, rows_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace starling::play
