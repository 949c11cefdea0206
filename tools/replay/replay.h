// `starling replay RUN`: a run computed again from its journal, and what can be asked of it then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace starling::replay {

struct ReplayOptions {
  std::filesystem::path run_dir;
  std::optional<std::uint64_t> after{}, until{};  // the part: versions in (after, until]
  std::optional<std::uint64_t> explain{};         // version: only print its gradients
  bool page = false;                              // write a page about the updates of the part
  std::optional<std::string> bisect{};  // a condition: find the version where it turns true
  std::int64_t episodes = 100;          // of each evaluation of a bisection
  bool greedy = false;                  // as of `starling eval`
  std::optional<std::uint32_t> without_actor{};  // slot: branch the run without it
  std::filesystem::path branch_dir{};            // where that goes; "": beside the run
  std::filesystem::path save{};                  // checkpoint to write at the end of the part
  bool from_checkpoint = false;                  // begin at the newest cut
  bool write = false;                            // and end with a checkpoint: RunRedo
  // Of a redo that a supervisor runs:
  int status_fd = -1;              // for its progress
  int parent = 0;                  // process id of the supervisor
  std::optional<double> redo_s{};  // of the configuration that the run goes on with
  bool restart = false;            // its learner has died: the run goes on with the same settings
};

// Returns the exit status. Of a mere replay: kExitDone if the weights equal the run's, bit for bit,
// at every hash and at the newest checkpoint (with `until`: those reached); kExitFailed, with a
// sentence, if they do not or could not be compared. Throws UserError if the run cannot be
// replayed.
int RunReplay(const ReplayOptions& options);

}  // namespace starling::replay
