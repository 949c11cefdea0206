#include "fleet/run_log.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace starling::fleet {
namespace {

std::string TimeOfDay() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec,
                     now.tv_nsec / 1'000'000);
}

LockedFile OpenLog(const std::filesystem::path& path) {
  try {
    return LockedFile(path);
  } catch (const std::system_error& error) {
    throw UserError(
        fmt::format("{} cannot be written: {}; make room there, or change its permissions",
                    path.string(), error.code().message()));
  }
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& run_dir, monitor::Console& console)
    : console_(console), file_(OpenLog(run_dir / "log")) {
  if (!file_.held()) {
    throw UserError(
        fmt::format("another starling train is running in {}; wait for its end", run_dir.string()));
  }
}

void RunLog::Log(LogLevel level, std::string_view text) {
  const std::string line = fmt::format("{} {} fleet: {}", TimeOfDay(), LevelName(level), text);
  Append(line);
  if (level >= LogLevel::kWarn) console_.Print(line, level);
}

void RunLog::FromChild(std::string_view line) {
  Append(line);
  const std::optional<LogLevel> level = LevelOf(line);
  if (!level && line != last_shown_) {
    last_shown_ = line;
    console_.Print(line, LogLevel::kError);
  } else if (level && *level >= LogLevel::kWarn) {
    console_.Print(line, *level);
  }
}

void RunLog::Append(std::string_view line) {
  const std::string bytes = std::string(line) + '\n';
  const auto written = TEMP_FAILURE_RETRY(::write(file_.fd(), bytes.data(), bytes.size()));
  if (written == static_cast<ssize_t>(bytes.size()) || write_failed_) return;
  write_failed_ = true;  // warn once; the next line may fit again
  console_.Print(fmt::format("the run's log cannot be written ({}): lines are missing in it",
                             written < 0 ? ::strerrordesc_np(errno) : "disk full"),
                 LogLevel::kWarn);
}

}  // namespace starling::fleet
