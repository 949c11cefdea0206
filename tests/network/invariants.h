// The invariants of a run on any network, checked on the files that it left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace starling {

struct RunFacts {
  std::vector<std::string> broken;  // a sentence for each thing that does not hold
  std::uint64_t updates = 0, applied = 0;
  std::uint64_t max_staleness = 0;
  std::uint64_t weights = 0;  // how many numbers
  std::uint64_t joins = 0, deaths = 0, lost_grants = 0;
  std::map<std::string, std::uint64_t> frames_refused;  // as the last line of metrics.jsonl has it
};

// Reads `journal`, `metrics.jsonl`, `summary.json` and the final checkpoint of a run that has
// ended, of one learner process. `broken` lists: a gradient applied twice, or one that never
// arrived or was refused; a staleness above the bound; a version that does not follow on the one
// before it, in journal or metrics; received ≠ applied + dropped + in flight; weights that are not
// finite; a file that cannot be read.
RunFacts CheckRun(const std::filesystem::path& run_dir);

}  // namespace starling
