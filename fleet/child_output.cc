#include "fleet/child_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/log.h"

namespace starling::fleet {

void LineSplitter::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t end = newline == std::string_view::npos ? bytes.size() : newline;
    const std::size_t take = std::min(end, limit_ - rest_.size());
    rest_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (!bytes.empty() && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      on_line_(std::exchange(rest_, {}));
    } else if (rest_.size() == limit_) {
      on_line_(std::exchange(rest_, {}));
    }
  }
}

void LineSplitter::End() {
  if (!rest_.empty()) on_line_(std::exchange(rest_, {}));
}

void LineReader::Start() {
  stream_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](boost::system::error_code error) {
                       if (error || self->closed_) return;
                       const ssize_t size = self->Read();
                       if (size == 0 || (size < 0 && errno != EAGAIN)) return;
                       if (size > 0) self->Add(size);
                       self->Start();
                     });
}

void LineReader::Drain() {
  closed_ = true;
  for (ssize_t size; (size = Read()) > 0;) Add(size);
  lines_.End();
  boost::system::error_code ignored;
  stream_.close(ignored);
}

std::ptrdiff_t LineReader::Read() {
  return TEMP_FAILURE_RETRY(::read(stream_.native_handle(), buffer_.data(), buffer_.size()));
}

void EndReason::Add(std::string_view line) {
  constexpr std::size_t kMaxLines = 3;
  const std::optional<LogLevel> level = LevelOf(line);
  if (!level && !line.empty()) {
    if (!std::exchange(plain_, true)) lines_.clear();
    lines_.emplace_back(line);
    if (lines_.size() > kMaxLines) lines_.pop_front();
  } else if (level == LogLevel::kError) {
    plain_ = false;
    const std::size_t colon = line.find(": ");  // "12:34:56.789 error actor 3: text"
    lines_ = {std::string(colon == std::string_view::npos ? line : line.substr(colon + 2))};
  } else if (level) {
    plain_ = false;
  }
}

std::string EndReason::text() const {
  constexpr std::size_t kMaxBytes = 1000;
  return fmt::format("{}", fmt::join(lines_, "; ")).substr(0, kMaxBytes);
}

}  // namespace starling::fleet
