// `starling replay`: repeats a run from its journal and compares every weight with the run's.
//
// The replay is in one process: every actor's unrolls on the weights that it had, and every update
// with its gradients, in the order of the journal.
//
// The gradients of an actor depend on its random streams, which derive from (seed, slot,
// incarnation), and on the weights, so the order in the journal determines all of them. The unrolls
// of a killed actor end; a killed learner lost the updates that its journal lacks.
//
// Thread safety: one thread calls it; the lane is a thread of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "actors/rollout.h"
#include "core/config/config.h"
#include "learner/apply/lanes.h"
#include "learner/storage/journal.h"
#include "wire/snapshot.h"

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

// All records of a journal in order, with the indices that a replay needs.
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

class Replayer {
 public:
  // Starts at version 0 with the weights `initial`.
  Replayer(const Config& config, const JournalIndex& index, std::span<const float> initial,
           std::uint64_t fingerprint);

  // Does the next record. Returns false and sets difference() if the weights differ from the run's.
  bool Do(const learner::JournalRecord& record);

  std::uint64_t version() const { return version_; }
  std::uint64_t hashes() const { return hashes_; }  // compared so far and equal
  const std::string& difference() const { return difference_; }
  learner::StateCopy Now() const { return lanes_.CaptureNow(); }

 private:
  using Life = std::pair<std::uint32_t, std::uint32_t>;  // slot, incarnation
  struct Actor {
    std::int64_t envs = 0;
    std::unique_ptr<actors::Rollout> rollout;
  };
  struct Gradient {
    std::vector<float> values;
    std::uint32_t samples = 0;
  };
  // A version on which more gradients will be computed.
  struct Version {
    std::vector<float> weights;
    double entropy = 0;
    std::uint64_t uses = 0;  // left
  };

  void Begin(const learner::TermRecord& term);
  void Compute(const learner::ArrivalRecord& arrival);
  std::optional<std::int64_t> EnvsOf(const learner::ArrivalRecord& arrival);
  actors::Rollout& ActorOf(const learner::ArrivalRecord& arrival, std::int64_t envs);
  void Apply(const learner::UpdateRecord& update);
  void Keep(std::uint64_t version, double entropy);
  void CompareHash(std::uint64_t version, std::uint64_t hash);

  const Config config_;
  const std::map<std::uint64_t, std::uint64_t> hash_of_;
  std::map<std::uint64_t, std::uint64_t> uses_;  // number of gradients, of later versions
  wire::SnapshotWriter snapshot_;
  wire::SnapshotReader reader_;
  std::binary_semaphore applied_{0};
  learner::Lanes lanes_;
  std::map<Life, Actor> actors_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Gradient> held_;
  std::map<std::uint64_t, Version> versions_;
  std::vector<float> gradient_;  // scratch
  std::uint64_t version_ = 0, hashes_ = 0;
  std::string difference_;
};

}  // namespace starling::replay
