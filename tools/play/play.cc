#include "tools/play/play.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "monitor/console.h"
#include "tools/play/play_session.h"
#include "tools/play/terminal.h"

namespace starling::play {
namespace {

// Steps that a slow machine or terminal catches up with at once; further ones are skipped.
constexpr std::uint64_t kMaxStepsAtOnce = 4;

// Ticks at multiples of its period, so that play does not drift.
class Ticker {
 public:
  explicit Ticker(int per_second) : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    const long period_ns = 1'000'000'000L / per_second;
    const timespec period{period_ns / 1'000'000'000L, period_ns % 1'000'000'000L};
    const itimerspec every{period, period};
    if (fd() < 0 || ::timerfd_settime(fd(), 0, &every, nullptr) != 0) {
      throw std::system_error(errno, std::generic_category(), "timerfd");
    }
  }

  int fd() const { return fd_.get(); }
  // Returns the number of ticks since the last call. Waits for one.
  std::uint64_t Take() {
    std::uint64_t ticks = 0;
    return ::read(fd(), &ticks, sizeof ticks) == sizeof ticks ? ticks : 0;
  }

 private:
  const FileDescriptor fd_;
};

// Plays until the person quits or the terminal closes. Returns the exit status.
int Loop(PlaySession& session, Terminal& terminal, Palette palette, int fps) {
  const SteadyClock clock;
  Ticker ticker(fps);
  KeyDecoder decoder;
  LineScreen screen;
  const auto draw = [&] {
    const auto [columns, rows] = terminal.size();
    return terminal.Write(screen.Update(session.Lines(palette, columns, rows), columns, rows));
  };
  if (!draw()) return kExitInterrupted;
  while (true) {
    // 1. Wait for a signal, a key or a tick.
    pollfd watched[3] = {
        {terminal.stop_fd(), POLLIN, 0}, {terminal.in(), POLLIN, 0}, {ticker.fd(), POLLIN, 0}};
    if (::poll(watched, 3, -1) < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "poll");
    }
    if (watched[0].revents != 0) return kExitInterrupted;
    // 2. Keys, before the step that they steer.
    if (watched[1].revents != 0) {
      const std::string typed = terminal.Read();
      if (typed.empty()) return kExitInterrupted;
      for (const Press& press : decoder.Feed(typed)) {
        if (press.key == Key::kQuit) return kExitDone;
        if (press.key == Key::kInterrupt) return kExitInterrupted;
        session.OnPress(press, clock.NowMs());
      }
    }
    // 3. Steps.
    if (watched[2].revents == 0) continue;
    const std::uint64_t steps = std::min(ticker.Take(), kMaxStepsAtOnce);
    for (std::uint64_t i = 0; i < steps; ++i) session.Step(clock.NowMs());
    if (!draw()) return kExitInterrupted;
  }
}

}  // namespace

int RunPlay(const PlayOptions& options) {
  PlaySession session(EnvOptions(options.env, options.overrides), options.seed);
  const Palette palette = DetectPalette(monitor::DetectStyle(STDOUT_FILENO).utf8);
  int status = kExitDone;
  {
    Terminal terminal(STDIN_FILENO, STDOUT_FILENO);
    status = Loop(session, terminal, palette, options.fps > 0 ? options.fps : session.UsualFps());
  }
  std::printf("%s\n", session.Summary().c_str());
  return status;
}

}  // namespace starling::play
