// held gradients -> judge -> applier -> a finished version: the learner's work between the socket
// that brings a gradient and the socket that answers it.
//
// Thread safety: none; it belongs to the network thread. The applier's threads are its own.
// Invariants: a gradient that Hold took is in exactly one update, or still held when the run ends;
// updates are finished in the order of their versions.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "learner/apply/applier.h"
#include "learner/apply/training_state.h"
#include "learner/counters.h"
#include "learner/staleness.h"
#include "learner/storage/journal.h"
#include "wire/gradient_buffers.h"
#include "wire/socket.h"

namespace starling::learner {

// A gradient that arrived, with what holds its values.
struct Received {
  std::span<const float> values{};  // into the envelope or the loan
  wire::Envelope envelope{};
  wire::Loan loan{};
  std::uint32_t slot = 0, incarnation = 0;
  std::uint64_t sequence = 0, base = 0;
  std::uint32_t samples = 0;
};

class Pipeline {
 public:
  // `on_progress` is called by a thread of the applier after a version is finished.
  Pipeline(const Config& config, TrainingState state, wire::SnapshotWriter& snapshot,
           JournalWriter& journal, Counters& counters, std::function<void()> on_progress);

  Judge& judge() { return judge_; }

  // Where other processes apply the same updates to their slices: `tell` is called for each before
  // anything else is decided (`checkpoint`: one is due of it), and none is finished before
  // FinishedElsewhere has said that it is there. Call once, first.
  using Tell = std::function<void(const UpdateRecord&, const Update&, bool checkpoint)>;
  void ShareWith(Tell tell) {
    tell_ = std::move(tell);
    elsewhere_ = taken_;
  }
  void FinishedElsewhere(std::uint64_t version) { elsewhere_ = version; }

  // Spends grant `number`. kHeld: `gradient` is kept until it is applied.
  Arrival Hold(std::uint64_t number, Received gradient);

  // Hands the applier every update that is due, as far as it may take them; none once the run is
  // over.
  void Advance() {
    while (AdvanceOne()) continue;
  }
  // At most one of them: whether there was one.
  bool AdvanceOne();

  // What became of one gradient.
  struct Applied {
    std::uint32_t slot = 0, incarnation = 0;
    std::uint64_t sequence = 0;
    wire::Outcome outcome = wire::Outcome::kApplied;
    std::uint64_t staleness = 0;
  };
  struct Finished {
    std::uint64_t version = 0;
    std::vector<Applied> applied;
    struct Checkpoint {
      TrainingState state;
      std::string
          counters;  // Counters::Save, and bytes in the journal, right after this update was
      std::uint64_t journal_offset = 0;  // decided: later ones may be on their way
    };
    std::optional<Checkpoint> checkpoint;  // if one is due at this version
  };
  // The next version that is completed.
  std::optional<Finished> TakeFinished();

  // CHECKs that all updates are finished; what is still held stays unapplied.
  TrainingState Settle();

  std::uint64_t published() const { return applier_->Completed(); }
  std::uint64_t taken() const { return taken_; }  // the last version that TakeFinished told of
  std::uint64_t steps() const { return steps_; }
  bool idle() const { return in_flight_.empty(); }  // every update decided is taken back as finished
  bool over() const { return steps_ >= config_.run.steps; }
  std::int64_t busy_ns() const { return applier_->BusyNs(); }
  double lr() const { return lr_; }
  double entropy() const { return entropy_; }

 private:
  // An update on its way; owns the gradients it reads.
  struct InFlightUpdate {
    Update update;
    std::vector<Received> gradients;
    std::vector<Applied> applied;
    std::uint64_t steps = 0, journal_offset = 0, oldest_base = 0;
    std::string counters;  // if a checkpoint is due
  };
  bool MayLaunch() const;
  void Launch(const Judge::Update& decided);
  bool CheckpointDue(std::uint64_t before, std::uint64_t after) const;

  const Config& config_;
  const std::uint32_t term_;
  JournalWriter& journal_;
  Counters& counters_;
  Judge judge_;
  std::uint64_t steps_, optimizer_step_, taken_;
  double lr_ = 0, entropy_ = 0;
  Tell tell_;
  std::uint64_t elsewhere_ = UINT64_MAX;    // finished there; for ever, where there is no elsewhere
  std::map<std::uint64_t, Received> held_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  std::deque<std::unique_ptr<InFlightUpdate>> in_flight_;
  std::unique_ptr<Applier> applier_;  // last: its threads end before what they use
};

}  // namespace starling::learner
