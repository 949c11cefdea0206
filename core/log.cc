#include "core/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "core/text.h"

namespace starling {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info ", "warn ", "error"};

// Our levels follow each other as spdlog's do, whose first is `trace`.
spdlog::level::level_enum ToSpdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level) + spdlog::level::debug);
}
static_assert(spdlog::level::info == spdlog::level::debug + 1 &&
              spdlog::level::warn == spdlog::level::debug + 2 &&
              spdlog::level::err == spdlog::level::debug + 3);

// Prints LevelName, so that the texts line up.
class LevelFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view name =
        LevelName(static_cast<LogLevel>(message.level - spdlog::level::debug));
    out.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<LevelFlag>();
  }
};

// https://no-color.org: any value but the empty one turns colour off.
spdlog::color_mode ColourMode() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0' ? spdlog::color_mode::never
                                                  : spdlog::color_mode::automatic;
}

void SetProcess(spdlog::logger& logger, std::string_view process) {
  std::string pattern = "%H:%M:%S.%e %^%*%$ ";
  for (const char c : process) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelFlag>('*').set_pattern(pattern + (process.empty() ? "%v" : ": %v"));
  logger.set_formatter(std::move(formatter));
}

using Sink = spdlog::sinks::stderr_color_sink_mt;

// Never destroyed: destructors of other static objects may still log.
spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto* created = new spdlog::logger("starling", std::make_shared<Sink>(ColourMode()));
    SetProcess(*created, "");
    return created;
  }();
  return *logger;
}

}  // namespace

void InitLog(std::string_view process, LogLevel lowest) {
  static_cast<Sink&>(*Logger().sinks().front()).set_color_mode(ColourMode());
  SetProcess(Logger(), process);
  Logger().set_level(ToSpdlog(lowest));
}

void LogLine(LogLevel level, std::string_view text) {
  spdlog::logger& logger = Logger();
  if (!logger.should_log(ToSpdlog(level))) return;
  // One event is one line, even if the text comes from a peer.
  logger.log(ToSpdlog(level), spdlog::string_view_t(Escaped(text)));
}

std::string_view LevelName(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> LevelOf(std::string_view line) {
  constexpr std::string_view kShape = "00:00:00.000 ";
  if (line.size() < kShape.size() + 6) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    if (kShape[i] == '0' ? !digit : line[i] != kShape[i]) return std::nullopt;
  }
  const auto* name = std::ranges::find(kLevelNames, line.substr(kShape.size(), 5));
  if (name == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(name - kLevelNames.begin());
}

void RateLimitedLog::Print(LogLevel level, std::int64_t now_ms, std::string_view text) {
  if (!begin_ms_ || now_ms - *begin_ms_ >= period_ms_) {
    begin_ms_ = now_ms;
    printed_ = 0;
  }
  if (printed_ == lines_) {
    ++left_out_;
    return;
  }
  ++printed_;
  const std::uint64_t left_out = std::exchange(left_out_, 0);
  LogLine(level, left_out == 0
                     ? std::string(text)
                     : fmt::format("{} ({} more like this were not shown)", text, left_out));
}

}  // namespace starling
