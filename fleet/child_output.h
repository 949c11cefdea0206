// The output of a child process: its lines, and the reason that they give for its end.
//
// Thread safety: one thread.
#pragma once

#include <utility>  // Boost 1.74's Asio needs it first

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
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

// Reads a child's pipe line by line. A pending wait shares it, and may outlive the child.
class LineReader : public std::enable_shared_from_this<LineReader> {
 public:
  LineReader(boost::asio::io_context& io, int fd, std::size_t limit,
             std::function<void(std::string_view)> on_line)
      : stream_(io, fd), lines_(limit, std::move(on_line)) {
    stream_.native_non_blocking(true);
  }

  // Waits, then reads and passes the bytes on at once. An asynchronous read could already hold
  // bytes when Drain is called, and they would be lost.
  void Start();
  // Passes on the rest of the pipe and closes it. REQUIRES: the child has ended.
  void Drain();

 private:
  std::ptrdiff_t Read();  // ::read, repeated after a signal
  void Add(std::ptrdiff_t size) { lines_.Add({buffer_.data(), static_cast<std::size_t>(size)}); }

  boost::asio::posix::stream_descriptor stream_;
  LineSplitter lines_;
  std::array<char, 16 << 10> buffer_{};
  bool closed_ = false;
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
