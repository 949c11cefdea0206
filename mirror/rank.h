// One rank of a mirrored run: it plays, and applies every update of all ranks to its own copy of
// the weights.
//
//   play -> share the reports -> add up the gradients, by slices -> apply the mean
//
// The learner's engine decides, in every rank: all engines get the same gradients in the same order
// (without their values), so they decide the same, and no rank is the server of the others. Rank 0
// keeps the books (mirror/books.h).
//
// Thread safety: none; one thread. The applier's threads are the engine's.
// Invariants: between two turns all ranks have the same version, the same weights, bit for bit, and
// the same state of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/rollout.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "learner/engine.h"
#include "learner/learner.h"
#include "mirror/all_reduce.h"
#include "mirror/books.h"
#include "mirror/report.h"
#include "mirror/start_message.h"
#include "mirror/world.h"

namespace starling::mirror {

struct RankOptions {
  int stop_fd = -1;                        // readable: end, with a last checkpoint
  learner::StatusReporter::Sinks sinks{};  // rank 0's
};

class Rank {
 public:
  // `run`: rank 0's, nullptr elsewhere; it and `world` must outlive this object. All ranks
  // construct theirs together. Throws UserError if the environment or the net cannot be built here,
  // or is not that of rank 0; Overdue; and as learner::Engine.
  Rank(World& world, const Config& config, net::ParameterLayout layout, const StartMessage& message,
       const HeldRun* run, RankOptions options);

  // Plays and applies. Returns true when all steps are done, false when a rank was told to stop.
  // Throws Overdue, and learner::GaveUp if another process has taken over the run.
  bool Run();
  // A sign of life to the supervisor and the screen; call it while waiting, too. Cheap.
  void Beat();
  // Of rank 0; see Books. "" elsewhere.
  std::string gave_up() const { return books_ ? books_->hopeless() : ""; }
  std::string checkpoint_error() const { return books_ ? books_->checkpoint_error() : ""; }

 private:
  struct Entry;
  void Enter(const learner::Start& start);
  void MakeRollout(std::uint32_t life);
  bool Restore(const learner::Start& start);
  bool MayEnd(std::uint64_t published_before);
  void Turn();
  Report Play();
  Circumstances MyCircumstances();
  Computed Compute(const wire::Grant& grant);
  std::optional<wire::Grant> TakeGrant();
  void Receive(const std::vector<Report>& reports);
  void AwaitUpdates();
  void Save(learner::CheckpointContent content);
  bool AddStates(learner::ActorStates& states);
  void End();
  bool MustStop() const;
  std::uint32_t slot() const { return static_cast<std::uint32_t>(world_.rank()); }

  World& world_;
  const Config config_;
  const net::ParameterLayout layout_;
  const RankOptions options_;
  const std::optional<std::uint64_t> cut_at_start_;  // version of the cut that it goes on from
  const std::uint64_t reached_;                      // Start::reached
  const bool exact_;
  const SteadyClock real_;
  RunningClock clock_{real_};
  EventFd wake_up_;  // a version is completed
  AllReduce all_reduce_;
  wire::SnapshotWriter snapshot_;
  wire::SnapshotReader reader_;
  learner::Engine engine_;
  std::optional<Books> books_;
  std::unique_ptr<actors::Rollout> rollout_;

  std::uint64_t sequence_ = 0;               // of the last gradient
  std::uint64_t played_ = 0;                 // version of the weights that played the last unroll
  std::uint64_t hashed_, hash_;              // Report
  std::optional<std::int64_t> begin_ns_;     // of training, by `real_`
  Circumstances agreed_;                     // rank 0's, of this turn
  bool stopped_ = false;                     // a rank has reported that it must stop
  std::optional<double> stopped_s_{};        // when, in seconds of rank 0
  bool ended_ = false;                       // no more beats
  std::uint32_t wait_us_ = 0, push_us_ = 0;  // of the last turn: for other ranks, to exchange
  learner::LoopTimes times_;
  learner::Laps laps_;
};

}  // namespace starling::mirror
