#include "bench/enduring_run.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/file.h"
#include "core/text.h"

namespace starling::bench {

double TimeOf(const std::string& line) {
  int h = 0, m = 0, s = 0, ms = 0;
  if (std::sscanf(line.c_str(), "%d:%d:%d.%d", &h, &m, &s, &ms) != 4) return 0;
  return ((h * 60.0 + m) * 60 + s) * 1000 + ms;
}

void EnduringRun::Train(const std::filesystem::path& config, const Strings& overrides, int signal,
                        int times, int work_ms) {
  Strings words = {"train", config.string(), "--run-dir", dir_.path.string()};
  Call(words, overrides, signal, times, work_ms);
  while (stopped_) Call({"train", "--resume", dir_.path.string()}, {}, signal, times, work_ms);
}

double EnduringRun::Resume(const Strings& overrides) {
  const SteadyClock clock;
  const std::size_t before = Lines("listening on").size();
  const std::int64_t begin = clock.NowNs();
  std::optional<double> seconds;
  RunChild(CallOf({"train", "--resume", dir_.path.string()}, overrides, [&] {
    if (seconds || Lines("listening on").size() == before) return;
    seconds = static_cast<double>(clock.NowNs() - begin) / 1e9;
  }));
  return seconds.value_or(0);
}

EnduringRun::Strings EnduringRun::Lines(const std::string& text) const {
  Strings found;
  std::string log;
  try {
    log = ReadFile(dir_.path / "log");
  } catch (const std::system_error&) {
    return found;  // not there yet
  }
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    if (line.find(text) != std::string::npos) found.push_back(line);
    at = end + 1;
  }
  return found;
}

learner::Checkpoint EnduringRun::Last() const {
  auto last = learner::LastGood(dir_.path / "checkpoints");
  if (!last.checkpoint) throw std::runtime_error(dir_.path.string() + " has no checkpoint");
  return *std::move(last.checkpoint);
}

Json EnduringRun::Summary() const { return Json::parse(ReadFile(dir_.path / "summary.json")); }

ChildCall EnduringRun::CallOf(Strings words, const Strings& overrides,
                              std::function<void()> watch) const {
  for (const std::string& one : overrides) words.insert(words.end(), {"--set", one});
  return {.program = site_.programs / "starling",
          .arguments = std::move(words),
          .timeout_s = timeout_s,
          .stop_fd = site_.stop_fd,
          .watch = std::move(watch),
          .statuses = {0, 130}};
}

void EnduringRun::Call(const Strings& words, const Strings& overrides, int signal, int times,
                       int work_ms) {
  stopped_ = false;
  std::size_t lives = Lines("learner started").size();
  std::int64_t worked_ms = 0;  // since when this learner has had a member
  const SteadyClock clock;
  RunChild(CallOf(words, overrides, [&] {
    // A learner has worked since its last actor joined.
    const Strings started = Lines("learner started, pid ");
    if (interruptions_ >= times || stopped_ || started.size() <= lives) return;
    const Strings joined = Lines(" joined (pid ");
    if (joined.empty() || TimeOf(joined.back()) < TimeOf(started.back())) return;
    if (worked_ms == 0) worked_ms = clock.NowMs();
    if (clock.NowMs() - worked_ms < work_ms) return;
    const std::string& line = started.back();
    const auto pid = ParseNumber(line.substr(line.rfind(' ') + 1));
    if (!pid) return;
    if (before_interruption) before_interruption(static_cast<int>(*pid));
    if (::kill(static_cast<pid_t>(*pid), signal) != 0) return;
    ++interruptions_;
    lives = started.size();
    worked_ms = 0;
    stopped_ = signal != SIGKILL;
  }));
}

}  // namespace starling::bench
