// The output of a child process: its lines, and the reason that they give for its end.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace starling::fleet {

// Cuts a stream of bytes into lines.
class LineSplitter {
 public:
  // A line longer than `limit` bytes is passed on in pieces.
  LineSplitter(std::size_t limit, std::function<void(std::string_view)> on_line)
      : limit_(limit), on_line_(std::move(on_line)) {}
  void Add(std::string_view bytes);
  void End();  // passes on the rest, if the stream ended without a newline

 private:
  std::size_t limit_;
  std::function<void(std::string_view)> on_line_;
  std::string rest_;
};

// The reason of a child's end, from its own output: the text of its last error line, or later lines
// that are no log lines (a failed CHECK, the message of a UserError).
class EndReason {
 public:
  void Add(std::string_view line);
  // Up to three lines, joined by "; "; "" if there is no such line. At most 1000 bytes.
  std::string text() const;

 private:
  std::deque<std::string> lines_;
  bool plain_ = false;  // the newest line was no log line
};

}  // namespace starling::fleet
