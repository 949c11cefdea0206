// The contents of a run's journal: all records in order, with the indices that a replay needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "learner/storage/journal.h"

namespace starling::replay {

struct JournalIndex {
  learner::JournalHeader header;
  std::vector<learner::JournalRecord> records;
  std::string torn;                                    // the reason of an early end, or ""
  bool damaged = false;                                // a record is wrong, not only missing
  std::uint64_t last = 0;                              // last version; the first is 0
  std::map<std::uint64_t, std::uint64_t> computed_on;  // number of gradients by base version
  std::map<std::uint64_t, std::uint64_t> hashes;       // of weights, by version
};

// Throws UserError with the file's name if the journal is missing, unreadable or without its
// beginning.
JournalIndex ReadJournalIndex(const std::filesystem::path& run_dir);

// One update with its gradients.
struct UpdateDetails {
  struct Gradient {
    learner::UpdateRecord::Item from;
    std::uint64_t base = 0, staleness = 0;
    std::uint32_t samples = 0;
    double norm = 0;    // before clipping, as reported by its actor
    double weight = 0;  // in the mean
  };
  learner::UpdateRecord update;
  std::vector<Gradient> gradients;  // in the order of summation
};

// Throws UserError with the range of versions if `version` is not in the journal.
UpdateDetails FindUpdate(const JournalIndex& index, std::uint64_t version);
std::string ToText(const UpdateDetails& update);

}  // namespace starling::replay
