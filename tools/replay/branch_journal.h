// The journal of a branch, rewritten from that of its run.
//
// Thread safety: the functions share nothing but the run directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/config/config.h"
#include "tools/replay/beginning.h"
#include "tools/replay/replayed_run.h"

namespace starling::replay {

// A branch that is not written yet.
struct BranchPlan {
  std::uint32_t slot = 0;   // the actor that it is without,
  std::uint64_t after = 0;  // which is killed after this version
  Beginning beginning;      // at or before `after`
  // Where it ends: the run's version and steps, and the branch's version.
  std::uint64_t version_of_run = 0, steps_of_run = 0, version = 0;
  std::uint64_t left_out = 0;  // gradients
};

// Throws UserError if no gradient would be left out or no update be left, if the journal has a gap
// before, or the run was resumed with other settings; and as NearestBeginning.
BranchPlan PlanBranch(const ReplayedRun& run, VersionRange range, std::uint32_t slot);

// A moment of the branch, and the steps of the run at that moment.
struct Moment {
  std::uint64_t version = 0, steps_of_run = 0;
};

// Writes the journal of the branch into the run directory `dir`, up to its last update, and a first
// checkpoint if it begins at a cut. Returns about 200 moments, evenly over the run; the last is its
// end. `config` is the branch's. Throws UserError if the journal cannot be written.
std::vector<Moment> WriteBranchJournal(const ReplayedRun& run, const BranchPlan& plan,
                                       const Config& config, const std::filesystem::path& dir);

}  // namespace starling::replay
