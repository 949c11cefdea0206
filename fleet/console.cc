#include "fleet/console.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace starling::fleet {
namespace {

constexpr std::int64_t kTerminalPeriodMs = 200, kPlainPeriodMs = 5000;
constexpr std::string_view kClear = "\r\033[K", kPlain = "\033[0m";

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
  std::string out = bar_.empty() ? "" : std::string(kClear);
  const std::string_view color = style_.color ? ColorOf(level) : "";
  out += color;
  out += Printable(line);
  if (!color.empty()) out += kPlain;
  out += '\n';
  out += bar_;  // one write, so that the bar does not flicker
  Write(out);
}

void Console::Show(const Progress& progress, std::int64_t now_ms) {
  if (style_.terminal) {
    Draw([&](const ProgressStyle& style) { return ProgressBar(progress, style); }, now_ms);
    return;
  }
  if (!shown_ms_) shown_ms_ = now_ms;  // the first line after a period, too
  if (now_ms - *shown_ms_ < kPlainPeriodMs) return;
  shown_ms_ = now_ms;
  Write(ProgressLine(progress) + "\n");
}

void Console::Draw(const std::function<std::string(const ProgressStyle&)>& bar,
                   std::int64_t now_ms) {
  if (!style_.terminal || (shown_ms_ && now_ms - *shown_ms_ < kTerminalPeriodMs)) return;
  shown_ms_ = now_ms;
  bar_ = bar({Width(), style_.utf8, style_.color});
  Write(std::string(kClear) + bar_);
}

void Console::Clear() {
  if (bar_.empty()) return;
  bar_.clear();
  Write(kClear);
}

int Console::Width() const {
  if (style_.width) return *style_.width;
  winsize size{};
  const bool known = ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void Console::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace starling::fleet
