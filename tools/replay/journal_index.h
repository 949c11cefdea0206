// A run as its journal tells it: what happened, in order, and what a replay has to keep for later.
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
  std::string torn;                                    // why it ends early, in a sentence; or ""
  bool damaged = false;                                // not only torn
  std::uint64_t last = 0;                              // version; the first is 0
  std::map<std::uint64_t, std::uint64_t> computed_on;  // how many gradients, by version
  std::map<std::uint64_t, std::uint64_t> hashes;       // of weights, by version
};

// Throws UserError naming the file if there is no journal to be read, or none from the beginning.
JournalIndex ReadJournalIndex(const std::filesystem::path& run_dir);

// What went into one update, and when it was decided.
struct UpdateDetails {
  struct Gradient {
    learner::UpdateRecord::Item from;
    std::uint64_t base = 0, staleness = 0;
    std::uint32_t samples = 0;
    double norm = 0;    // as its actor reported it, before clipping
    double weight = 0;  // in the mean
  };
  learner::UpdateRecord update;
  std::vector<Gradient> gradients;  // in the order of summation
};

// Throws UserError naming the versions there are, if it is none of them.
UpdateDetails FindUpdate(const JournalIndex& index, std::uint64_t version);
std::string ToText(const UpdateDetails& update);

}  // namespace starling::replay
