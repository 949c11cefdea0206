#include "bench/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>

#include "core/child.h"
#include "core/clock.h"

namespace starling::bench {
namespace {

constexpr int kTickMs = 10;               // between two checks of a running child
constexpr std::int64_t kGraceMs = 8'000;  // from SIGTERM to SIGKILL
constexpr std::size_t kShownOutput = 1500;

std::string Ending(const std::string& output) {
  return output.size() <= kShownOutput ? output
                                       : "..." + output.substr(output.size() - kShownOutput);
}

// A child process and its output. The destructor ends the process.
class Child {
 public:
  explicit Child(const ChildCall& call) {
    Spawned spawned =
        Spawn({.program = call.program, .arguments = call.arguments, .death_signal = SIGTERM});
    if (spawned.pid < 0) {
      throw std::runtime_error(fmt::format("{} could not be started: {}", call.program.string(),
                                           std::strerror(spawned.error)));
    }
    pid_ = spawned.pid;
    fd_ = spawned.output.Release();
  }
  ~Child() {
    if (pid_ > 0) End();
    ::close(fd_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  const std::string& output() const { return output_; }

  // Waits up to a tick for output or the end of the child. Returns its exit, or nullopt while it
  // runs. Sets `stopped` if `stop_fd` is readable.
  std::optional<ChildExit> Wait(int stop_fd, bool& stopped) {
    // Once all output has arrived, only the exit is missing: check every millisecond.
    std::array<pollfd, 2> items{pollfd{drained_ ? -1 : fd_, POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
    ::poll(items.data(), items.size(), drained_ ? 1 : kTickMs);
    stopped = items[1].revents != 0;
    Drain();
    const std::optional<ChildExit> exit = Reap(pid_);
    if (!exit) return std::nullopt;
    pid_ = -1;
    Drain();
    return exit;
  }

 private:
  void Drain() {
    std::array<char, 4096> buffer;
    ssize_t got = 1;
    while (!drained_ && (got = ::read(fd_, buffer.data(), buffer.size())) > 0) {
      output_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    drained_ = drained_ || got == 0;
  }

  void End() {
    const SteadyClock clock;
    ::kill(pid_, SIGTERM);
    bool ignored = false;
    for (const std::int64_t begin = clock.NowMs(); clock.NowMs() - begin < kGraceMs;) {
      if (Wait(-1, ignored)) return;
    }
    ::kill(pid_, SIGKILL);
    while (!Wait(-1, ignored)) {
    }
  }

  int pid_ = -1, fd_ = -1;
  bool drained_ = false;
  std::string output_;
};

}  // namespace

void ThrowIfInterrupted(int stop_fd) {
  pollfd item{stop_fd, POLLIN, 0};
  if (::poll(&item, 1, 0) > 0) throw Interrupted();
}

ChildReport RunChild(const ChildCall& call) {
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  const auto seconds = [&] { return static_cast<double>(clock.NowNs() - begin) / 1e9; };
  const std::string name = call.program.filename().string();

  // Ends with the child's exit, the operator's stop or the time limit, in this order.
  Child child(call);
  while (true) {
    bool stopped = false;
    if (call.watch) call.watch(child.pid());
    const std::optional<ChildExit> exit = child.Wait(call.stop_fd, stopped);
    if (exit) {
      if (exit->how == ChildExit::How::kExited && exit->code == 0) break;
      throw std::runtime_error(
          fmt::format("{} {}:\n{}", name, Describe(*exit), Ending(child.output())));
    }
    if (stopped) throw Interrupted();
    if (seconds() > call.timeout_s) {
      throw std::runtime_error(fmt::format("{} was not done within {:.0f} s:\n{}", name,
                                           call.timeout_s, Ending(child.output())));
    }
  }
  return {.seconds = seconds(), .output = child.output()};
}

}  // namespace starling::bench
