// `starling replay`: does a run again from its journal, and holds every weight to the run's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace starling::replay {

struct ReplayOptions {
  std::filesystem::path run_dir;
  std::optional<std::uint64_t> until;    // version
  std::optional<std::uint64_t> explain;  // version: only tells what went into it
};

// Returns the exit status: done if the weights are the run's, bit for bit, at every hash and at the
// newest checkpoint (with `until`: as far as it goes); failed, with a sentence, if they are not or could
// not be compared. Throws UserError if there is nothing to be replayed.
int RunReplay(const ReplayOptions& options);

}  // namespace starling::replay
