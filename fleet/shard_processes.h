// The further processes of a learner that is cut into shards: started and reaped by its first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace starling::fleet {

class ShardProcesses {
 public:
  // Starts shards 1 to `others` of the learner at `endpoint`, whose configuration is the run's with
  // `overrides`. Throws std::runtime_error if one cannot be started.
  // `new_run`: what a shard finds wrong is the operator's mistake. Later those of the learner before may still
  // be going, and their ports with them.
  ShardProcesses(std::size_t others, const std::filesystem::path& run_dir,
                 const std::vector<std::string>& overrides, const std::string& endpoint,
                 bool new_run);
  // Ends those that live.
  ~ShardProcesses();
  ShardProcesses(const ShardProcesses&) = delete;
  ShardProcesses& operator=(const ShardProcesses&) = delete;

  // "shard 1 was killed by SIGKILL"; "" while all live. Throws UserError.
  std::string Trouble();
  // Waits for those that were told to end, and kills those that have not within two seconds.
  void AwaitEnd();

 private:
  const bool new_run_;
  std::vector<int> pids_;  // -1: reaped
};

}  // namespace starling::fleet
