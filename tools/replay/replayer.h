// Repeats a run from its journal and compares every weight with the run's.
//
// The replay is in one process: every actor's unrolls on the weights that it had, and every update
// with its gradients, in the order of the journal.
//
// The gradients of an actor depend on its random streams, which derive from (seed, slot, life), and
// on the weights, so the order in the journal determines all of them. The unrolls of a killed actor
// end; those of actors whose learner was killed go on in its next term if that restored them.
//
// A replay begins at version 0, or at a cut: a checkpoint with the states of its actors.
//
// Thread safety: one thread calls it; the lane is a thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <semaphore>
#include <string>
#include <tuple>
#include <vector>

#include "core/config/config.h"
#include "learner/apply/lanes.h"
#include "learner/counters.h"
#include "tools/replay/beginning.h"
#include "tools/replay/replayed_actors.h"
#include "tools/replay/run_journal.h"
#include "wire/protocol.h"
#include "wire/snapshot.h"

namespace starling::replay {

// Also of NaNs and zeros.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

class Replayer {
 public:
  // `ahead` begins at `beginning`, too, and must outlive the replayer.
  Replayer(const Config& config, JournalAhead& ahead, Beginning beginning,
           const net::ParameterLayout& layout);

  // Does the record that `ahead` returned last. Returns false and sets difference() if the weights
  // differ from the run's.
  bool Do(const learner::JournalRecord& record);

  std::uint64_t version() const { return version_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t hashes() const { return hashes_; }  // compared so far and equal
  const std::string& difference() const { return difference_; }
  // Whether that is because records are missing.
  bool hole() const { return hole_; }
  learner::StateCopy Now() const { return lanes_.CaptureNow(); }
  learner::Counters& counters() { return counters_; }
  // The last update, and what the actors reported with its gradients, in the order of the sum.
  const learner::UpdateRecord& last() const { return last_; }
  const std::vector<wire::Gradient>& applied() const { return applied_; }
  // Weights and optimizer now. Without term.
  learner::TrainingState State() const;
  // What a checkpoint of this version holds, right behind its update. Without term and position.
  learner::CheckpointContent Content();

 private:
  using Key =
      std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // slot, incarnation, sequence
  struct Gradient {
    std::vector<float> values;
    std::uint32_t samples = 0;
    bool first = true;  // of its unroll
    std::uint64_t base = 0, played = 0;
    wire::Gradient message{};
  };
  // A version on which more gradients will be computed.
  struct Version {
    std::vector<float> weights;
    double entropy = 0;
  };

  void Begin(const learner::TermRecord& term);
  void Compute(const learner::ArrivalRecord& arrival);
  void Count(const learner::ArrivalRecord& arrival, const wire::Gradient& message);
  void Apply(const learner::UpdateRecord& update);
  void Keep(std::uint64_t version, double entropy);
  std::uint64_t UseOf(const learner::ArrivalRecord& arrival, const actors::Rollout& actor);
  std::optional<double> Give(const learner::ArrivalRecord& arrival, std::uint64_t version,
                             actors::Rollout& actor);
  void Forget(std::uint64_t version);
  void CompareHash(std::uint64_t version, std::uint64_t expected, std::uint64_t hash);

  const Config config_;
  JournalAhead& ahead_;
  wire::SnapshotWriter snapshot_;
  wire::SnapshotReader reader_;
  std::binary_semaphore finished_{0};
  learner::Lanes lanes_;
  ReplayedActors actors_;
  learner::Counters counters_;
  std::map<Key, Gradient> held_;
  learner::UseRecord use_{};  // the last one
  struct Unroll {
    std::uint64_t played = 0;  // the version that played it
    bool held = false;         // one of its gradients was
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Unroll> unrolls_;  // by slot and incarnation
  std::map<std::uint64_t, Version> versions_;
  learner::UpdateRecord last_;
  std::vector<wire::Gradient> applied_;
  std::vector<float> gradient_;  // scratch
  std::uint64_t version_, steps_, optimizer_step_, hashes_ = 0;
  std::string difference_;
  bool after_gap_ = false, hole_ = false;
};

}  // namespace starling::replay
