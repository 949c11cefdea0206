#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "tools/sweep/runs.h"

namespace starling::sweep {
namespace {

constexpr std::size_t kMaxLine = 16 << 10, kLinesKept = 200;

}  // namespace

Job::Job(const std::filesystem::path& program, const std::vector<std::string>& arguments)
    // SIGTERM: if the sweep is killed, its runs still write their checkpoints.
    : child_(Spawn({.program = program,
                    .arguments = arguments,
                    .status_pipe = false,
                    .death_signal = SIGTERM})),
      lines_(kMaxLine, [this](std::string_view line) {
        said_.emplace_back(line);
        reason_.Add(line);
        if (said_.size() > kLinesKept) said_.pop_front();
      }) {}

Job::~Job() {
  if (child_.pid > 0) EndChild(child_.pid, 0);
}

void Job::Read() {
  std::array<char, 16 << 10> buffer;
  while (output_fd() >= 0) {
    const ssize_t size = ::read(output_fd(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      child_.output = FileDescriptor();
    } else {
      lines_.Add({buffer.data(), static_cast<std::size_t>(size)});
    }
  }
}

std::optional<ChildExit> Job::Reap() {
  std::optional<ChildExit> exit;
  if (child_.pid < 0) {
    exit = ChildExit{ChildExit::How::kNotStarted, child_.error};
  } else {
    exit = starling::Reap(child_.pid);
  }
  if (!exit) return exit;
  child_.pid = 0;
  Read();  // the rest of its output
  lines_.End();
  return exit;
}

void Job::Signal(int signal) {
  if (child_.pid > 0) ::kill(signal == SIGKILL ? -child_.pid : child_.pid, signal);
}

}  // namespace starling::sweep
