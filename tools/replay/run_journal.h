// The journal of a run as a replay needs it, in memory that does not grow with the run.
//
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "learner/storage/journal_reader.h"

namespace starling::replay {

// What one pass over a journal finds.
struct JournalSummary {
  learner::JournalHeader header;
  std::uint64_t first = 0, last = 0;  // versions of its updates; 0: it has none
  bool pruned = false;                // segments before `first` were removed
  std::string torn;                   // the reason of an early end, or ""
  bool damaged = false;               // a record is wrong, not only missing
};
// Throws UserError with the file's name if the journal is missing, unreadable, or begins in the
// middle of the run where no segment was removed.
JournalSummary ScanJournal(const std::filesystem::path& run_dir);

// ---- updates

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

// The updates of a journal, in order.
class Updates {
 public:
  // Throws UserError as ScanJournal.
  explicit Updates(const std::filesystem::path& run_dir);
  // Returns the next one, or nullopt at the end of the journal. A gradient that never arrived has 0
  // samples.
  std::optional<UpdateDetails> Next();

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  learner::JournalReader reader_;
  std::map<Key, learner::ArrivalRecord> held_;
};

// Throws UserError with the range of versions if `version` is not in the journal.
UpdateDetails FindUpdate(const std::filesystem::path& run_dir, std::uint64_t version);
std::string ToText(const UpdateDetails& update);

// ---- looking ahead

// Reads a journal, and as far ahead as a replay must look: to the last gradient that is computed on
// a version.
//
// A gradient's base is at least the version of its grant, and grants are sent in the order of their
// versions. So when a later version was granted, and every actor has used or outlived its grants up
// to `version`, no later record can name `version` as a base. Until then the records wait in
// memory: as many as arrive while the slowest actor computes.
class JournalAhead {
 public:
  // Begins behind `from`, a position at which no actor has a grant. Throws UserError as
  // ScanJournal.
  explicit JournalAhead(const std::filesystem::path& run_dir, learner::JournalPosition from = {});

  std::optional<learner::JournalRecord> Next();
  // Returns the number of gradients that follow, not yet returned by Next, on `version`, and of
  // unrolls that it played for gradients on other versions.
  std::uint64_t UsesOf(std::uint64_t version);
  // Returns the hash of the weights of `version`, if the journal has one.
  std::optional<std::uint64_t> HashOf(std::uint64_t version);
  // The number of records that were read ahead.
  std::size_t waiting() const { return ahead_.size(); }

 private:
  bool Read();
  void Used(std::uint64_t version);
  void ReadPast(std::uint64_t version);
  void Forget(std::uint32_t slot, std::uint64_t up_to);

  learner::JournalReader reader_;
  std::deque<learner::JournalRecord> ahead_;
  std::map<std::uint64_t, std::uint64_t> uses_;    // in ahead_, by version
  std::map<std::uint64_t, std::uint64_t> hashes_;  // in ahead_, by version
  // Versions of the grants whose gradient can still follow, by slot and number; and all of them.
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> grants_;
  std::multiset<std::uint64_t> open_;
  std::uint64_t granted_ = 0;  // the newest version of a grant
};

}  // namespace starling::replay
