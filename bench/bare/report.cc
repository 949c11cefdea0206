#include "bench/bare/report.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace starling::bare {
namespace {

// Follows the message of a failed CHECK, because the remaining checks are not done.
void OnAbort(int) {
  std::fputs("ABORT the line above ended the program: the checks after it were not done\n", stdout);
  std::fflush(stdout);
  std::_Exit(kExitFailed);
}

}  // namespace

Report::Report(std::string only, double limit_s)
    : only_(std::move(only)),
      limit_s_(limit_s),
      watcher_([this](std::stop_token stop) { Watch(std::move(stop)); }) {
  std::signal(SIGABRT, OnAbort);
}

Report::~Report() { std::signal(SIGABRT, SIG_DFL); }

void Report::Watch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const int watched = begun_;
    const bool moved = changed_.wait_for(lock, stop, std::chrono::duration<double>(limit_s_), [&] {
      return begun_ != watched || stop.stop_requested();
    });
    if (moved || stop.stop_requested() || !busy_) continue;
    Say("HANG ", current_,
        fmt::format("not done in {:.0f} s; the checks after it were not done", limit_s_));
    ++failed_;  // the other thread hangs in the check and cannot
    End();
    std::_Exit(kExitFailed);
  }
}

void Report::Check(const std::string& name, const std::function<Verdict()>& check) {
  if (name.find(only_) == std::string::npos) return;
  // 1. Start the watcher's time for this check.
  {
    const std::scoped_lock lock(mutex_);
    ++begun_, busy_ = true, current_ = name;
  }
  changed_.notify_all();
  // 2. Run it; an exception counts as a failure.
  const SteadyClock clock;
  const std::int64_t begin_ms = clock.NowMs();
  Verdict verdict;
  const char* what = "ok   ";
  try {
    verdict = check();
    if (!verdict.agrees) what = "WRONG";
  } catch (const std::exception& error) {
    what = "ERROR";
    verdict = {false, error.what()};
  }
  {
    const std::scoped_lock lock(mutex_);
    busy_ = false;
  }
  ++(verdict.agrees ? agreed_ : failed_);
  const double seconds = static_cast<double>(clock.NowMs() - begin_ms) / 1e3;
  Say(what, name, fmt::format("{} ({:.1f} s)", verdict.text, seconds));
}

void Report::Skip(const std::string& name, const std::string& why) {
  if (name.find(only_) == std::string::npos) return;
  ++skipped_;
  Say("skip ", name, why);
}

int Report::End() {
  std::printf("%d agree, %d do not, %d not checked\n", agreed_, failed_, skipped_);
  if (agreed_ + failed_ + skipped_ == 0)
    std::printf("no check has \"%s\" in its name\n", only_.c_str());
  std::fflush(stdout);
  return failed_ == 0 && agreed_ > 0 ? kExitDone : kExitFailed;
}

void Report::Say(const char* what, const std::string& name, const std::string& text) const {
  std::printf("%s %s: %s\n", what, name.c_str(), text.c_str());
  std::fflush(stdout);
}

}  // namespace starling::bare
