// `starling replay`: repeats a run from its journal and compares every weight with the run's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace starling::replay {

struct ReplayOptions {
  std::filesystem::path run_dir;
  std::optional<std::uint64_t> until;    // version
  std::optional<std::uint64_t> explain;  // version: only print its gradients
};

// Returns the exit status: kExitDone if the weights equal the run's, bit for bit, at every hash and
// at the newest checkpoint (with `until`: those reached); kExitFailed, with a sentence, if they do
// not or could not be compared. Throws UserError if the run cannot be replayed.
int RunReplay(const ReplayOptions& options);

}  // namespace starling::replay
