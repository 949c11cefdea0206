#include "fleet/shard_processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "core/child.h"
#include "core/error.h"
#include "core/process.h"

namespace starling::fleet {

constexpr std::int64_t kKillAfterMs = 2000;  // from the request to end

ShardProcesses::ShardProcesses(std::size_t others, const std::filesystem::path& run_dir,
                               const std::vector<std::string>& overrides,
                               const std::string& endpoint, bool new_run)
    : new_run_(new_run) {
  // They write to our standard error, and so through our pipe into the run's log.
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
    if (pid >= 0) EndChild(pid, 0);
  }
}

void ShardProcesses::AwaitEnd(const Clock& clock) {
  const std::int64_t end = clock.NowMs() + kKillAfterMs;
  for (int& pid : pids_) {
    const auto left_ms = static_cast<int>(std::max<std::int64_t>(end - clock.NowMs(), 0));
    if (pid >= 0) EndChild(std::exchange(pid, -1), left_ms);
  }
}

std::string ShardProcesses::FindEnded() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    const auto exit = pids_[i] >= 0 ? Reap(pids_[i]) : std::nullopt;
    if (!exit) continue;
    pids_[i] = -1;
    if (new_run_ && exit->how == ChildExit::How::kExited && exit->code == kExitUserError) {
      throw UserError(fmt::format("shard {} cannot start: its message is above", i + 1));
    }
    return fmt::format("shard {} {}", i + 1, Describe(*exit));
  }
  return "";
}

}  // namespace starling::fleet
