// The further processes of a sharded learner, started and reaped by its first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"

namespace starling::fleet {

class ShardProcesses {
 public:
  // Starts shards 1 to `others` of the learner at `endpoint`, with the run's configuration and
  // `overrides`. Throws std::runtime_error if one cannot be started. `new_run`: exit status 2 of a
  // shard is the operator's mistake. In a restarted learner it may mean that the shards of the
  // learner before still hold their ports.
  ShardProcesses(std::size_t others, const std::filesystem::path& run_dir,
                 const std::vector<std::string>& overrides, const std::string& endpoint,
                 bool new_run);
  // Kills those that live.
  ~ShardProcesses();
  ShardProcesses(const ShardProcesses&) = delete;
  ShardProcesses& operator=(const ShardProcesses&) = delete;

  // Returns "shard 1 was killed by SIGKILL", or "" while all live. Throws UserError.
  std::string FindEnded();
  // Waits two seconds for shards that were asked to end, then kills them.
  void AwaitEnd(const Clock& clock = SteadyClock());

 private:
  const bool new_run_;
  std::vector<int> pids_;  // -1: reaped
};

}  // namespace starling::fleet
