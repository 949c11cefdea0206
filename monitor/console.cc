#include "monitor/console.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace starling::monitor {
namespace {

constexpr std::int64_t kTerminalPeriodMs = 200, kPlainPeriodMs = 5000;
// A whole block is written at this period: another program may have written to the terminal.
constexpr std::int64_t kWholePeriodMs = 5000;
constexpr std::string_view kClearLine = "\033[K", kClearBelow = "\033[J", kPlainText = "\033[0m";

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first of the three that is set decides, as in setlocale(3).
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value(Environment(name));
    if (value.empty()) continue;
    return ::strcasestr(value.c_str(), "utf-8") != nullptr ||
           ::strcasestr(value.c_str(), "utf8") != nullptr;
  }
  return false;
}

std::string_view ColorOf(LogLevel level) {
  if (level == LogLevel::kError) return "\033[31m";
  if (level == LogLevel::kWarn) return "\033[33m";
  return "";
}

std::string Printable(std::string_view line) {
  std::string out;
  for (const char c : line) {
    const auto code = static_cast<unsigned char>(c);
    const bool control = (code < 0x20 && c != '\t') || code == 0x7f;
    out += control ? '?' : c;
  }
  return out;
}

// Columns of a line whose characters are one wide, with escape codes that end in a letter.
int ShownColumns(std::string_view line) {
  int columns = 0;
  bool code = false;
  for (const char c : line) {
    if (c == '\033') {
      code = true;
    } else if (code) {
      code = ::isalpha(static_cast<unsigned char>(c)) == 0;
    } else {
      columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }
  }
  return columns;
}

}  // namespace

ConsoleStyle DetectStyle(int fd) {
  ConsoleStyle style;
  const std::string_view term = Environment("TERM");
  style.terminal = ::isatty(fd) == 1 && !term.empty() && term != "dumb";
  style.color = style.terminal && Environment("NO_COLOR").empty();
  style.utf8 = style.terminal && LocaleIsUtf8();
  return style;
}

void Console::Print(std::string_view line, LogLevel level) {
  const std::string_view color = style_.color ? ColorOf(level) : "";
  std::string out = block_.empty() ? "" : ToTop(AskSize().columns).append(kClearBelow);
  out += color;
  out += Printable(line);
  if (!color.empty()) out += kPlainText;
  out += '\n';
  out += Whole(block_);  // one write, so that the block does not flicker
  Write(out);
}

void Console::Show(const Progress& progress, std::int64_t now_ms) {
  if (style_.terminal) {
    Draw([&](const ProgressStyle& style) { return ProgressBar(progress, style); }, now_ms);
    return;
  }
  if (!style_.progress) return;
  if (!shown_ms_) shown_ms_ = now_ms;  // the first line after a period, too
  if (now_ms - *shown_ms_ < kPlainPeriodMs) return;
  shown_ms_ = now_ms;
  Write(ProgressLine(progress) + "\n");
}

void Console::Draw(const std::function<std::string(const ProgressStyle&)>& bar,
                   std::int64_t now_ms) {
  DrawLines([&](const ProgressStyle& style) { return Lines{bar(style)}; }, now_ms);
}

bool Console::DrawLines(const std::function<Lines(const ProgressStyle&)>& block,
                        std::int64_t now_ms) {
  if (!style_.terminal || !style_.progress) return false;
  if (shown_ms_ && now_ms - *shown_ms_ < kTerminalPeriodMs) return false;
  shown_ms_ = now_ms;
  // 1. Make the lines for the present size.
  const Size size = AskSize();
  Lines lines = block({size.columns, style_.utf8, style_.color, size.rows});
  // 2. Write all of them, or only those that changed.
  const bool whole =
      block_.empty() || size != size_ || !whole_ms_ || now_ms - *whole_ms_ >= kWholePeriodMs;
  std::string out = ToTop(size.columns);
  if (whole) {
    whole_ms_ = now_ms;
    out += Whole(lines);
  } else {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool last = i + 1 == lines.size();
      const bool same = i < block_.size() && lines[i] == block_[i];
      if (!same || last) out.append(lines[i]).append(last ? kClearBelow : kClearLine);
      if (!last) out += '\n';
    }
  }
  block_ = std::move(lines);
  size_ = size;
  Write(out);
  return true;
}

void Console::Keep() {
  if (block_.empty()) return;
  // After an empty last line the cursor is at the start of a line already.
  if (!block_.back().empty()) Write("\n");
  block_.clear();
}

void Console::Clear() {
  if (block_.empty()) return;
  const std::string top = ToTop(AskSize().columns);
  block_.clear();
  Write(top + std::string(kClearBelow));
}

std::string Console::ToTop(int columns) const {
  int up = -1;  // the cursor stands in the last row
  for (const std::string& line : block_) {
    up += std::max(1, (ShownColumns(line) + columns - 1) / std::max(1, columns));
  }
  return up > 0 ? fmt::format("\r\033[{}A", up) : "\r";
}

// Each line overwrites the old one; lines below the last are cleared.
std::string Console::Whole(const Lines& lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append(kClearLine).append("\n");
    out += lines[i];
  }
  return lines.empty() ? out : out.append(kClearBelow);
}

Console::Size Console::AskSize() const {
  winsize asked{};
  Size size;
  if (::ioctl(fd_, TIOCGWINSZ, &asked) == 0) {
    if (asked.ws_col > 0) size.columns = asked.ws_col;
    if (asked.ws_row > 0) size.rows = asked.ws_row;
  }
  return {style_.width.value_or(size.columns), style_.height.value_or(size.rows)};
}

void Console::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace starling::monitor
