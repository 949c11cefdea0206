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
#include "tools/replay/run_journal.h"
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

class Replayer {
 public:
  // Starts at version 0 with the weights `initial`. `ahead` must outlive the replayer.
  Replayer(const Config& config, JournalAhead& ahead, std::span<const float> initial,
           std::uint64_t fingerprint);

  // Does the record that `ahead` returned last. Returns false and sets difference() if the weights
  // differ from the run's.
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
  };

  void Begin(const learner::TermRecord& term);
  void Compute(const learner::ArrivalRecord& arrival);
  std::optional<std::int64_t> EnvsOf(const learner::ArrivalRecord& arrival);
  actors::Rollout& ActorOf(const learner::ArrivalRecord& arrival, std::int64_t envs);
  void Apply(const learner::UpdateRecord& update);
  void Keep(std::uint64_t version, double entropy);
  void CompareHash(std::uint64_t version, std::uint64_t expected, std::uint64_t hash);

  const Config config_;
  JournalAhead& ahead_;
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
