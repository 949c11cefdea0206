#include "fleet/shard_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "core/child.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/process.h"

namespace starling::fleet {
namespace {

constexpr std::int64_t kPatienceMs = 2000;  // for a shard that was told to end
constexpr int kPollMs = 5;

}  // namespace

ShardProcesses::ShardProcesses(std::size_t others, const std::filesystem::path& run_dir,
                               const std::vector<std::string>& overrides,
                               const std::string& endpoint, bool new_run)
    : new_run_(new_run) {
  for (std::size_t shard = 1; shard <= others; ++shard) {
    std::vector<std::string> arguments{
        "--run-dir", run_dir.string(), "--shard",  std::to_string(shard),
        "--learner", endpoint,         "--parent", std::to_string(::getpid())};
    for (const std::string& override : overrides)
      arguments.insert(arguments.end(), {"--set", override});
    const Spawned spawned = Spawn({.program = ProgramDir() / "starling-learner",
                                   .arguments = std::move(arguments),
                                   .death_signal = SIGKILL,
                                   .our_output = true});
    if (spawned.pid < 0) {
      throw std::runtime_error(fmt::format("shard {} {}", shard,
                                           Describe({ChildExit::How::kNotStarted, spawned.error})));
    }
    pids_.push_back(spawned.pid);
  }
}

ShardProcesses::~ShardProcesses() {
  for (const int pid : pids_) {
    if (pid < 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void ShardProcesses::AwaitEnd() {
  const SteadyClock clock;
  const std::int64_t end = clock.NowMs() + kPatienceMs;
  for (int& pid : pids_) {
    while (pid >= 0 && clock.NowMs() < end) {
      if (Reap(pid)) pid = -1;
      ::poll(nullptr, 0, pid < 0 ? 0 : kPollMs);
    }
  }
}

std::string ShardProcesses::Trouble() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    const auto exit = pids_[i] >= 0 ? Reap(pids_[i]) : std::nullopt;
    if (!exit) continue;
    pids_[i] = -1;
    if (new_run_ && exit->how == ChildExit::How::kExited && exit->code == kExitUserError) {
      throw UserError(fmt::format("shard {} cannot begin: its message is above", i + 1));
    }
    return fmt::format("shard {} {}", i + 1, Describe(*exit));
  }
  return "";
}

}  // namespace starling::fleet
