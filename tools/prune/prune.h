// `starling prune`: frees the disk of what runs keep beyond checkpoint.keep and journal.keep.
#pragma once

#include <string>
#include <vector>

namespace starling::prune {

struct PruneOptions {
  std::vector<std::string> run_dirs;
  std::vector<std::string> overrides;  // "journal.keep=1"
  bool dry_run = false;                // only says what would go
};

// Prints a line for each run. Every run can be gone on with afterwards, and be replayed from its
// oldest checkpoint that is left. Returns the exit status. Throws UserError, before anything is
// removed, if one is no run directory or has a learner at work, and for other settings.
int RunPrune(const PruneOptions& options);

}  // namespace starling::prune
