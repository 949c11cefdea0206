// The learner: receive -> check -> judge -> apply -> publish.
//
// The loop around the engine (learner/engine.h): it owns the sockets, reads messages, gives each to
// the object that handles it, and sends the engine's answers. One thread does all of this;
// the threads of the applier (learner/apply/applier.h) do the arithmetic. A message of a peer is
// answered, refused and counted, or ignored: it never ends the learner.
//
// Thread safety: Run() is the network thread; nothing else is called while it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "core/locked_file.h"
#include "core/log.h"
#include "learner/admission.h"
#include "learner/background.h"
#include "learner/counters.h"
#include "learner/cut_collector.h"
#include "learner/engine.h"
#include "learner/membership.h"
#include "learner/newest_weights.h"
#include "learner/outbox.h"
#include "learner/refusal_watch.h"
#include "learner/shards/shard_coordinator.h"
#include "learner/status_reporter.h"
#include "learner/storage/checkpoint_keeper.h"
#include "learner/storage/start.h"
#include "net/parameters.h"
#include "wire/runtime_dir.h"
#include "wire/slices.h"
#include "wire/socket.h"

namespace starling::learner {

struct LearnerOptions {
  std::filesystem::path run_dir;
  bool resume = false;
  bool exact = false;                 // checkpoints are cuts: the envs of this run can be saved
  bool redo = false;                  // if exact: the updates of a killed learner can be redone
  int stop_fd = -1;                   // readable: write a final checkpoint and end
  int reload_fd = -1;                 // an eventfd; readable: read the list of keys again
  std::function<bool()> abandoned{};  // true: the parent is gone, as stop_fd; may be empty
  // In a learner of several processes: returns how a shard has ended, "" while all live.
  std::function<std::string()> shard_ended{};
  StatusReporter::Sinks sinks{};
  const Clock* clock = nullptr;  // nullptr: the steady clock
  RefusalLimits refusals{};
};

// A stopwatch that splits time into laps.
class Laps {
 public:
  explicit Laps(const Clock& clock) : clock_(clock), last_ns_(clock.NowNs()) {}

  // Returns the time since the last call, or since the construction. Costs one look at the clock.
  std::int64_t LapNs() {
    const std::int64_t now = clock_.NowNs();
    return now - std::exchange(last_ns_, now);
  }

 private:
  const Clock& clock_;
  std::int64_t last_ns_;
};

class Learner {
 public:
  // Opens the run: the last good checkpoint (resume) or a first one, the journal, a new term, the
  // private directory, shared memory and sockets. Throws UserError or std::runtime_error with a
  // sentence.
  Learner(const Config& config, InitialNet net, LearnerOptions options);

  // The endpoint for the other shards, which start before Run; "" if the learner is one process.
  std::string shards_endpoint() const { return shards_ ? shards_->socket().endpoint() : ""; }

  // Runs until all steps are done (returns true), until it is stopped, or until every gradient is
  // refused. Throws GaveUp if another learner has taken over the run.
  bool Run();
  // Why the gradients are refused; "" if they are not.
  std::string gave_up() const { return watch_.hopeless() ? watch_.Describe(config_) : ""; }

  const Counters& counters() const { return engine_.counters(); }
  // Why the newest checkpoint could not be written; "" if it was.
  const std::string& checkpoint_error() const { return keeper_.error(); }

 private:
  Learner(const Config& config, InitialNet net, LearnerOptions options,
          wire::RuntimeDir runtime_dir, LockedFile lock, Start start);

  bool AwaitShards();
  void Loop();
  void End(bool begun);
  // cuts
  void LimitCut();
  void BeginStop();
  bool AwaitsCut();
  void SaveCheckpoint(CheckpointContent content);
  void AskForStates(CheckpointContent content);
  std::optional<CheckpointContent> TakeCut();
  void FinishCut();
  CheckpointContent LastContent();
  CheckpointContent CaptureNow();
  std::int64_t CutMs() const {
    return static_cast<std::int64_t>(config_.checkpoint.cut_s * 1000.0) *
           config_.gradients_per_unroll();
  }
  void SaveLast(CheckpointContent content);
  void AwaitWriter(std::int64_t waited_ms);
  void TellTheEnd(const std::string& why);
  bool AwaitMessages();
  void AnswerAtEnd();
  // Peers without a member, by host and process as in their hello, else by their connection.
  using Strangers = std::map<std::string, std::string>;
  Strangers ReceiveStrangers();
  // In the run directory while the learner listens, for actors of other machines.
  std::filesystem::path endpoint_file() const { return options_.run_dir / "endpoint"; }
  void RemoveEndpointFile() const {
    std::error_code ignored;
    std::filesystem::remove(endpoint_file(), ignored);
  }
  bool MustStop() const { return options_.abandoned && options_.abandoned(); }

  // receive
  bool Drain();
  void Handle(wire::Envelope envelope);
  // A message with what Background has found out about it.
  struct Arrived {
    wire::Envelope envelope{};
    wire::DecodeResult decoded{};           // points into the envelope
    wire::HeldTensor tensor{};              // of a gradient; without a hold it is in the envelope
    std::optional<net::FiniteNorm> norm{};  // of a gradient
  };
  void Dispatch(Arrived arrived);
  void OnGradient(Arrived arrived);
  void OnSlice(wire::Envelope envelope, const wire::Message& message);
  void OnWholeGradients();
  bool Receive(Arrived arrived, double other_square);
  void OnFetch(const wire::Header& header, const wire::Fetch& fetch);
  void OnActed(const wire::Header& header, const wire::Acted& acted);
  void OnState(const wire::Header& header, const wire::State& part);
  void OnLeave(const std::string& peer);
  void ReloadKeys();

  // publish, answer
  void Publish();
  void SendReplies();
  void SendWeights(Member& member);
  void CopyWeights();
  void SendCopies();
  void SendCopy(const Member& member, const wire::SnapshotMeta& meta,
                const wire::SharedTensor& values);
  wire::Welcome MakeWelcome() const;
  double TrainingSeconds() const;

  const Config config_;
  const net::ParameterLayout layout_;
  const wire::Slice slice_;    // of the weights that this process owns: all, or that of shard 0
  const std::size_t trained_;  // its floats before the running sums
  const std::optional<std::uint64_t> cut_at_start_;  // version of the cut that it goes on from
  const LearnerOptions options_;
  const SteadyClock steady_clock_;
  const Clock& real_;   // counts while the process is stopped, too: speed
  RunningClock clock_;  // measures silences and deadlines
  EventFd wake_up_;     // a version is completed, or a checkpoint written
  wire::RuntimeDir runtime_dir_;
  const LockedFile lock_;  // of the run directory
  wire::SnapshotWriter snapshot_;
  NewestWeights newest_weights_;
  Engine engine_;
  CheckpointKeeper keeper_;
  wire::Context context_;
  Admission admission_;  // before socket_: its authenticator must exist when the socket opens
  wire::ServerSocket socket_;
  Outbox outbox_;
  CutCollector cuts_;
  std::optional<wire::BeaconSender> beacon_;
  std::optional<ShardCoordinator> shards_;
  Membership membership_;
  StatusReporter reporter_;

  // Slots that wait for a copy of the newest weights: those of the copy under way, and of the next.
  std::vector<std::uint32_t> copied_for_, copy_for_;
  bool copying_ = false;  // the background owns newest_weights_

  std::optional<std::int64_t> seeking_ms_;  // since when grants are withheld for a checkpoint
  std::optional<std::int64_t> stopped_ms_;  // since when they are for the end
  bool left_at_end_ = false;                // an actor has left since then, with its state
  std::int64_t ended_ms_ = 0;               // when the updates ended
  bool answers_at_end_ = false;             // members wait for the last checkpoint
  bool let_go_ = false;                     // they were let go all the same
  Strangers strangers_;                     // who came meanwhile
  std::uint64_t gaps_at_cut_ = 0;           // of the journal, at the last cut with all states

  RateLimitedLog refusals_, cut_warnings_{10'000};
  RefusalWatch watch_;
  std::optional<std::int64_t> first_grant_ns_;  // of `real_`
  LoopTimes times_;
  Laps laps_;
  // Last: their threads use the members above. Gradients in order; whatever else takes long.
  Background checks_, copies_;
};

}  // namespace starling::learner
