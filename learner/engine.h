// The engine of the learner: gradients in; updates, grants and answers out. It checks, judges,
// journals, applies and counts. It has no socket and no clock: the time is given to it. The
// learner's loop (learner/learner.h), the ranks of a run without a learner (mirror/rank.h), the
// simulator's learner and the tests drive the same engine:
//
//   Join, Open            who may compute
//   Receive               check -> judge -> hold or refuse a gradient
//   Advance               hand the applier the updates that are due
//   TakeFinished          the next completed version
//   TakeReplies           an answer for each actor with outcomes or new grants
//   ExpireGrants, Remove  grants that end without a gradient
//
// Thread safety: none; it belongs to the network thread. The applier's threads are its own.
// Invariants: every gradient of a member gets exactly one reply or refusal while its member lives.
// A grant is sent only when its version is completed, and is journalled when it is sent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "learner/counters.h"
#include "learner/lives.h"
#include "learner/pipeline.h"
#include "learner/redo_pace.h"
#include "learner/roster.h"
#include "learner/run_status.h"
#include "learner/storage/journal_writer.h"
#include "learner/storage/start.h"
#include "wire/protocol.h"
#include "wire/slices.h"
#include "wire/snapshot.h"

namespace starling::learner {

// Microseconds of the unroll behind a gradient, as its actor reported them.
UnrollStatus TimesOf(const wire::Gradient& gradient);

// The part of a status that follows from the counters. `newest`: the newest gradient's message.
RunStatus StatusOf(const Config& config, const Counters& counters, std::uint64_t steps,
                   const wire::Gradient& newest);

struct EngineOptions {
  std::filesystem::path run_dir;   // for the journal
  std::uint64_t fingerprint = 0;   // of the parameter layout
  std::uint32_t session = 1;       // differs with every start of a learner (wire::Header)
  wire::Slice slice;               // of the weights that this process applies
  std::size_t trained = SIZE_MAX;  // its floats before the running sums (ApplierSpec)
  bool exact = false;              // checkpoints are cuts
  bool redo = false;               // if exact: the updates behind one can be redone
  bool sum_ahead = false;          // Pipeline::SumAhead
  bool journal = true;             // false: another process journals the same updates
  // Whether the run's journal lacks records; empty: that of this engine.
  std::function<bool()> journal_broken{};
  Pipeline::Mean mean{};  // where gradients are added up elsewhere; see Pipeline
  // Whether a checkpoint may be taken now that is not due by configuration; empty: never.
  std::function<bool()> may_save{};
  std::function<void()> on_progress{};  // called by an applier thread; see Pipeline
};

class Engine {
 public:
  // Opens the journal and starts the applier. `config` and `snapshot` must outlive the engine.
  // Throws std::system_error.
  Engine(const Config& config, const Start& start, wire::SnapshotWriter& snapshot,
         EngineOptions options);

  // ---- members

  // A new incarnation in `slot` gets its first grants when the judge allows. `fresh`: the state
  // that waits for the slot, if any, is of no use to it. REQUIRES: `slot` is free.
  Member& Join(std::uint32_t slot, std::string peer = "", bool fresh = false);
  // The actor is gone: its grants end, its held gradients stay. REQUIRES: `slot` has a member.
  void Remove(std::uint32_t slot, const std::string& why);
  // Returns the sender, or nullptr if term, session or incarnation do not match.
  Member* SenderOf(const wire::Header& header);
  Roster& roster() { return roster_; }
  const Roster& roster() const { return roster_; }

  // Returns the state that the member goes on from, or nullptr if it begins afresh or has used it.
  const ActorState* StateOf(const Member& member) const;
  // The states that wait for their actors, by slot.
  const std::map<std::uint32_t, ActorState>& waiting() const { return lives_.waiting(); }

  // Nothing is granted before.
  void Open() { pipeline_.judge().Open(); }
  bool open() const { return pipeline_.judge().open(); }

  // ---- gradients in

  struct Receipt {
    wire::Outcome outcome = wire::Outcome::kNone;  // kNone: held; its update brings the answer
    Member* sender = nullptr;                      // nullptr: the sender is no member
  };
  // REQUIRES: the gradient has the net's fingerprint, and as many values as `slice`, or none and
  // its norm where options.mean adds up.
  Receipt Receive(Received gradient);

  // The member has played the unroll of its acting grant. If the grant has ended by now, it is
  // granted to be refused: the actor computes, and its gradient brings the next grant.
  void Acted(Member& member, std::uint64_t grant);

  // ---- updates out

  // Hands the applier every update that is due, as far as it has room; none once the run is over.
  // Passes on an exception of options.mean.
  void Advance() { pipeline_.Advance(); }
  bool AdvanceOne() { return pipeline_.AdvanceOne(); }

  struct Finished {
    std::uint64_t version = 0;
    std::optional<std::uint64_t> hash;  // of its weights, if it was taken (learner.hash_every)
    // If one is due at this version. At a cut it has `actors`: the states that wait, to which the
    // caller adds those of the members that have begun.
    std::optional<CheckpointContent> checkpoint;
  };
  // Returns the next completed version, or nullopt. `seconds`: since the first grant of this term.
  std::optional<Finished> TakeFinished(double seconds);

  // Where other processes apply the same updates to their slices. See Pipeline.
  void ShareWith(Pipeline::Broadcast broadcast) { pipeline_.ShareWith(std::move(broadcast)); }
  void FinishedElsewhere(std::uint64_t version) { pipeline_.FinishedElsewhere(version); }

  // The last checkpoint was not written: another is taken soon.
  void RetryCheckpoint() { pace_.Retry(counters_.seconds); }

  // ---- cuts, if options.exact

  // Whether grants are withheld for the cut of a checkpoint.
  bool seeks_cut() const { return pipeline_.seeks_cut(); }
  // It takes too long: this checkpoint is no cut.
  void GiveUpCut() { pipeline_.GiveUpCut(); }
  // Nothing is granted any more: the end of the run. Gradients on their way are still applied.
  void StopGranting() { pipeline_.StopGranting(); }
  // Whether an actor left at the end without the gradient that it had been granted: nothing more is
  // applied.
  bool frozen() const { return pipeline_.frozen(); }
  // Whether every actor stands between two unrolls now: nothing is computed, held or late, and no
  // unroll has gradients left.
  bool AtCut() const;

  // The next checkpoint is taken in this memory, if it is of this process's slice.
  void Reuse(StateCopy memory) {
    if (memory.weights.size() == floats()) pipeline_.Reuse(std::move(memory));
  }
  // The content of a checkpoint of `state`, whose version is the newest; the journal is flushed
  // first, and synced when the checkpoint is written. At a cut it has `actors` as Finished.
  CheckpointContent ContentOf(TrainingState state);
  // A copy of the state after the last update. REQUIRES: idle(), and nothing is advanced meanwhile:
  // then another thread may make it, in the memory of Reuse.
  TrainingState StateNow() { return pipeline_.CaptureNow(); }
  CheckpointContent CaptureNow() { return ContentOf(StateNow()); }

  // ---- grants and answers out

  struct Reply {
    std::uint32_t slot = 0;
    wire::Answer answer;
  };
  // Returns the outcomes of the gradients of finished updates and all grants whose version is
  // completed, one reply for each slot that has any. From `now_ns` on these grants are sent: their
  // deadline runs.
  std::vector<Reply> TakeReplies(std::int64_t now_ns);
  // Returns the live grants of `slot` that were sent.
  std::vector<wire::Grant> SentGrants(std::uint32_t slot) const;
  // Ends every grant whose deadline is not after `now_ns`, and returns them. A deadline is
  // staleness.deadline_s after the grant was sent, or after its actor spent an older one: an actor
  // spends its grants one after the other.
  std::vector<Grant> ExpireGrants(std::int64_t now_ns);
  // The deadline of a grant that was sent and has not ended.
  std::optional<std::int64_t> DeadlineNs(std::uint64_t grant) const;

  // ---- state

  // The part of the status that the engine knows; the caller adds phase, times, checkpoint and
  // actors.
  RunStatus Status() const;

  std::uint32_t term() const { return term_; }
  std::uint32_t session() const { return options_.session; }
  std::uint64_t fingerprint() const { return options_.fingerprint; }
  std::size_t floats() const { return options_.slice.size; }  // of the weights, of a gradient
  std::uint64_t published() const { return pipeline_.published(); }  // newest completed version
  std::uint64_t taken() const { return pipeline_.taken(); }  // last version TakeFinished returned
  bool granted() const { return granted_; }                  // a grant was sent
  bool idle() const { return pipeline_.idle(); }
  bool over() const { return pipeline_.over(); }
  const Pipeline& pipeline() const { return pipeline_; }
  const Judge& judge() const { return pipeline_.judge(); }
  const Counters& counters() const { return counters_; }
  Counters& counters() { return counters_; }
  JournalWriter& journal() { return journal_; }
  const wire::Gradient& newest() const { return newest_; }  // the newest message without a defect
  // Sums over all actors, from their accepted gradients in this term.
  const UnrollStatus& actor_times() const { return actor_times_; }

 private:
  Receipt Identify(const wire::Header& header);
  const Grant* GrantOf(const Member& sender, std::uint64_t number) const;
  wire::Outcome CheckContent(Received& gradient, Member& sender) const;
  wire::Outcome Hold(Received gradient, Member& sender);
  void Count(const wire::Gradient& gradient);
  bool Revoke(std::uint32_t slot, std::uint64_t number);
  void RestartDeadlines(std::int64_t now_ns);

  const Config& config_;
  const EngineOptions options_;
  const std::uint32_t term_;
  const double seconds_before_;  // of training in earlier terms
  const std::int64_t deadline_ns_;
  Counters counters_;
  Roster roster_;
  Lives lives_;
  JournalWriter journal_;
  Pipeline pipeline_;

  std::vector<Pipeline::Applied> applied_;          // not replied to yet
  std::vector<Grant> unsent_;                       // their version is not completed yet
  std::map<std::uint64_t, std::int64_t> begun_ns_;  // live grants that were sent, by number: when
                                                    // their deadline began
  std::map<std::uint32_t, std::uint64_t> spent_;  // by slot: the newest since the last look at time
  bool granted_ = false;
  RedoPace pace_;
  wire::Gradient newest_{};
  UnrollStatus actor_times_;
};

}  // namespace starling::learner
