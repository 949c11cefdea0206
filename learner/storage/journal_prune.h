// Limits the size of a run's journal on the disk (journal.keep): removes the oldest segments, in
// order, so that the line of the run never has a gap. Segments that a replay from the oldest kept
// cut reads stay, whatever their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "learner/storage/journal.h"

namespace starling::learner {

// Returns where a replay from the oldest cut among `checkpoints`, the oldest first, begins to read
// the journal. Without a cut the oldest checkpoint counts as one. Nowhere, if there is none.
JournalPosition OldestCut(const std::vector<std::filesystem::path>& checkpoints);

// Bytes of the journal.
struct JournalPruned {
  std::size_t segments = 0;   // removed
  std::uint64_t removed = 0;  // their bytes
  std::uint64_t left = 0;
};
// Removes the oldest segments of `journal` until it has at most `max_bytes`, but none that reaches
// `oldest`; none if that is nowhere. `dry_run`: only counts them. A segment that cannot be removed
// ends it: the next call tries again.
JournalPruned PruneJournal(const std::filesystem::path& journal, JournalPosition oldest,
                           std::uint64_t max_bytes, bool dry_run = false);

}  // namespace starling::learner
