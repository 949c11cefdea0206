#include "learner/storage/journal_prune.h"

#include <stdexcept>
#include <system_error>
#include <tuple>

#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"

namespace starling::learner {

JournalPosition OldestCut(const std::vector<std::filesystem::path>& checkpoints) {
  JournalPosition oldest;
  for (const std::filesystem::path& path : checkpoints) {
    const bool cut = std::filesystem::exists(ActorStatesPath(path));
    if (!cut && oldest.offset > 0) continue;
    try {
      oldest = ReadCheckpoint(path).journal;  // the whole file, up to its checksum
    } catch (const std::runtime_error&) {
      continue;  // damaged: nothing begins there
    }
    if (cut) break;
  }
  return oldest;
}

JournalPruned PruneJournal(const std::filesystem::path& journal, JournalPosition oldest,
                           std::uint64_t max_bytes, bool dry_run) {
  const std::vector<Segment> segments = ListSegments(journal);  // the oldest first
  JournalPruned pruned;
  std::error_code gone;
  const auto size_of = [&](const Segment& segment) -> std::uint64_t {
    const std::uintmax_t size = std::filesystem::file_size(segment.path, gone);
    return gone ? 0 : size;
  };
  for (const Segment& segment : segments) pruned.left += size_of(segment);
  for (const Segment& segment : segments) {
    const bool before =
        std::tie(segment.term, segment.segment) < std::tie(oldest.term, oldest.segment);
    if (oldest.offset == 0 || !before || pruned.left <= max_bytes) break;
    const std::uint64_t size = size_of(segment);
    if (!dry_run && !std::filesystem::remove(segment.path, gone)) break;
    ++pruned.segments;
    pruned.removed += size;
    pruned.left -= size;
  }
  return pruned;
}

}  // namespace starling::learner
