// held gradients -> judge -> applier -> finished versions: the part of the engine that turns
// gradients into weights.
//
// Thread safety: none; it belongs to the network thread, except that another thread may call
// CaptureNow while nothing else is called. The applier's threads are its own.
// Invariants: a gradient that Hold took is in exactly one update, or still held when the run ends;
// updates finish in the order of their versions. The episodes that came with a gradient are counted
// with its update, in the order of the sum, so that a run of the same updates ends at the same one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "learner/apply/applier.h"
#include "learner/counters.h"
#include "learner/run_goal.h"
#include "learner/staleness.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_writer.h"
#include "net/norm.h"
#include "wire/held_tensor.h"
#include "wire/protocol.h"

namespace starling::learner {

// A gradient that arrived.
struct Received {
  wire::Header header{};
  wire::Gradient body{};
  wire::HeldTensor tensor{};              // its values; none yet if they are in shared memory
  double other_square = 0;                // sum of squares of the slices that other shards hold
  std::optional<net::FiniteNorm> norm{};  // of the values, if it is known already
  // That count with it, and with them its running sums: both of an unroll count once.
  std::uint64_t steps = 0;
};

class Pipeline {
 public:
  // `trained`: the floats of the state before its running sums (ApplierSpec). `on_progress` is
  // called by a thread of the applier after a version is finished, or a part of a sum is added. All
  // references must outlive the pipeline.
  Pipeline(const Config& config, TrainingState state, std::size_t trained,
           wire::SnapshotWriter& snapshot, JournalWriter& journal, Counters& counters,
           std::function<void()> on_progress);

  Judge& judge() { return judge_; }
  const Judge& judge() const { return judge_; }

  // For a learner of several processes: `broadcast` is called for each update right after it is
  // decided (`checkpoint`: one is due at it), and no update finishes here before FinishedElsewhere
  // reported it. REQUIRES: no update was decided yet.
  using Broadcast = std::function<void(const UpdateRecord&, const Update&, bool checkpoint)>;
  void ShareWith(Broadcast broadcast) {
    CHECK(!sums_ahead_, "the other processes need every gradient of an update");
    broadcast_ = std::move(broadcast);
    elsewhere_ = taken_;
  }
  void FinishedElsewhere(std::uint64_t version) { elsewhere_ = version; }

  // Passes the gradient to the judge. Keeps it until it is applied if it returns kHeld.
  Arrival Hold(Received gradient);

  // Hands the applier every update that is due, as far as it has room; none once the run is over.
  void Advance() {
    while (AdvanceOne()) continue;
    if (sums_ahead_) AddAhead();
  }
  // Hands it at most one. Returns whether there was one.
  bool AdvanceOne();

  // From now on, at bound 0, gradients are added up while their update waits for others: fewer are
  // left to add when the last has come, and an update of N gradients that came in messages does not
  // hold N of them (one in shared memory stays there). It needs one more vector and wakes the
  // applier for each gradient, so it is for large nets. REQUIRES: the applier is in order; not with
  // ShareWith.
  void SumAhead() { sums_ahead_ = true; }

  // For a learner whose gradients lie elsewhere, in slices: `mean` returns the mean of those of an
  // update, in the order of their sum, weighted by their samples. It must stay until the update is
  // finished. Empty: the gradients are here.
  using Mean = std::function<std::span<const float>(std::span<const Received> gradients)>;
  void AddUpElsewhere(Mean mean) { mean_ = std::move(mean); }

  // ---- checkpoints: of the version at which they fall due, or of the next cut if cuts are sought

  // From now on grants are withheld while a checkpoint is due, until its version is a cut.
  void SeekCuts() { cuts_ = true; }
  // One is due at the next version, whatever the steps.
  void AskForCheckpoint() { due_ = true; }
  // A cut takes too long: grants are given again, and the checkpoint that is due is none.
  void GiveUpCut();
  bool seeks_cut() const { return judge_.withheld() && !ending_; }
  // Nothing is granted any more: what was granted and held runs out.
  void StopGranting();
  bool ending() const { return ending_; }
  // Ends the updates: held gradients stay unapplied.
  void Freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  // The outcome of one gradient.
  struct Applied {
    std::uint32_t slot = 0, incarnation = 0;
    std::uint64_t sequence = 0;
    wire::Outcome outcome = wire::Outcome::kApplied;
    std::uint64_t staleness = 0;
  };
  struct Finished {
    std::uint64_t version = 0;
    std::vector<Applied> applied;
    std::optional<std::uint64_t> hash;            // of its weights, if it was taken
    std::optional<CheckpointContent> checkpoint;  // if one is due at this version
    bool cut = false;                             // ... which is a cut
  };
  // Returns the next completed version, or nullopt.
  std::optional<Finished> TakeFinished();

  // The next capture, and CaptureNow, go into this memory.
  void Reuse(StateCopy memory) { spare_ = std::move(memory); }
  // Returns the state after the last update; held gradients stay unapplied. REQUIRES: idle().
  TrainingState CaptureNow();

  std::uint64_t published() const { return applier_->Completed(); }
  std::uint64_t taken() const { return taken_; }  // the last version TakeFinished returned
  std::uint64_t steps() const { return steps_; }
  bool idle() const { return in_flight_.empty(); }  // every decided update was taken as finished
  // All steps are done, or the return of run.until_return is reached.
  bool over() const { return steps_ >= config_.run.steps || return_reached_; }
  std::int64_t busy_ns() const { return applier_->BusyNs(); }
  double lr() const { return lr_; }
  double entropy() const { return entropy_; }

 private:
  // A part of the sum of the next update, while the applier adds it.
  struct Part {
    Update update{};
    std::vector<std::uint64_t> tickets{};
  };
  // A decided update; owns the gradients that the applier reads.
  struct InFlightUpdate {
    Update update;
    std::vector<Received> gradients;
    std::unique_ptr<Part> part;  // of its sum, if the applier may still read it
    std::vector<Applied> applied;
    std::uint64_t steps = 0, oldest_base = 0;
    JournalPosition journal{};  // behind its record
    // Of the journal then: whether it was not broken, and how often it had been.
    bool journal_whole = true;
    std::uint64_t journal_gaps = 0;
    std::string counters;  // if a checkpoint is due
    bool cut = false;      // its version is one
  };
  bool MayLaunch() const;
  bool ReturnReached() const;
  void Launch(const Judge::Update& decided);
  void WriteDown(const UpdateRecord& record, InFlightUpdate& pending);
  void AddAhead();
  bool CheckpointDue(std::uint64_t before, std::uint64_t after);

  const Config& config_;
  const std::uint32_t term_;
  JournalWriter& journal_;
  Counters& counters_;
  Judge judge_;
  std::uint64_t steps_, optimizer_step_, taken_;
  bool return_reached_;  // decided with each update, and at the start
  double checkpoint_s_;  // counters_.seconds when a checkpoint was last due
  double lr_ = 0, entropy_ = 0;
  bool cuts_ = false;                   // checkpoints wait for cuts
  bool due_ = false, give_up_ = false;  // a checkpoint; whether it need not be a cut
  bool ending_ = false, frozen_ = false;
  Broadcast broadcast_;
  Mean mean_;
  std::uint64_t elsewhere_ = UINT64_MAX;    // newest version finished by the other processes
  StateCopy spare_;                         // memory for the next capture
  std::map<std::uint64_t, Received> held_;  // by ticket
  std::uint64_t next_ticket_ = 0;

  // The sum of the next update, as far as it was begun.
  bool sums_ahead_ = false;
  std::unique_ptr<Part> part_;         // being added
  std::vector<std::uint64_t> summed_;  // tickets, with those of part_; in the order of the sum
  double summed_weight_ = 0;
  std::deque<std::unique_ptr<InFlightUpdate>> in_flight_;
  std::unique_ptr<Applier> applier_;  // last: its threads use the members above
};

}  // namespace starling::learner
