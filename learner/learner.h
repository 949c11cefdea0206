// The learner: receive -> check -> judge -> apply -> publish.
//
// One thread owns the socket and decides the order; the threads of the applier
// (learner/apply/applier.h) do the arithmetic. A message of a peer is answered, refused and counted,
// or ignored: it never ends the learner.
//
// Thread safety: Run() is the network thread; nothing else is called while it runs.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/bell.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "core/metrics.h"
#include "learner/counters.h"
#include "learner/newest_weights.h"
#include "learner/pipeline.h"
#include "learner/roster.h"
#include "learner/shards/gradient_assembler.h"
#include "learner/shards/shard_links.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal.h"
#include "learner/storage/start.h"
#include "learner/tensorboard_log.h"
#include "learner/work_times.h"
#include "net/parameters.h"
#include "wire/gate.h"
#include "wire/runtime_dir.h"
#include "wire/slices.h"
#include "wire/socket.h"

namespace starling::learner {

struct Bulletin;

struct LearnerOptions {
  std::filesystem::path run_dir;
  bool resume = false;
  int stop_fd = -1;                   // readable: write a final checkpoint and end
  int reload_fd = -1;                 // an eventfd; readable: read the list of keys again
  std::function<bool()> abandoned{};  // true: as stop_fd (our parent is gone); may be empty
  // Where the learner is several processes: what has become of one that has ended; "" while all live.
  std::function<std::string()> shard_trouble{};
  // Several times a second; may be empty.
  std::function<void(const nlohmann::ordered_json&)> on_status{};
  // As often, for watchers in other threads; may be empty. It must not wait for them.
  std::function<void(std::shared_ptr<const Bulletin>)> on_bulletin{};
};

class Learner {
 public:
  // Opens the run: the last good checkpoint (resume) or a first one, the journal, a new term, the
  // private place, shared memory and sockets. Throws UserError or std::runtime_error with a
  // sentence.
  Learner(const Config& config, NetBlueprint net, LearnerOptions options);

  // Where the other shards find us; "" if the learner is one process. Start them before Run.
  std::string shards_endpoint() const { return shards_ ? shards_->socket().endpoint() : ""; }

  // Until the run is over or stopped. True if it is over (all steps done).
  bool Run();

  const Counters& counters() const { return counters_; }
  // Why the newest checkpoint could not be written; empty if it was.
  const std::string& checkpoint_trouble() const { return checkpoint_trouble_; }

 private:
  static constexpr int kComingsAtOnce = 100;  // lines on who comes and goes, in ten seconds

  Learner(const Config& config, NetBlueprint net, LearnerOptions options, wire::RunPlace place,
          Start start);

  // receive
  void Drain();
  void Handle(wire::Envelope envelope);
  bool MayComeIn(const wire::Envelope& envelope);
  bool SpeaksForAnother(const wire::Envelope& envelope, const wire::Header& header);
  void CountImpostor(std::uint32_t slot);
  // The member whose message this is, if it knows us; nobody if it takes us for another learner, or is of an
  // earlier life.
  Member* SenderOf(const wire::Header& header);
  void OnHello(const wire::Envelope& envelope, const wire::Hello& hello);
  void WelcomeAgain(Member& member);
  void SayWelcome(const Member& member);
  void GiveBuffers(Member& member);
  bool OnGradient(wire::Envelope envelope, const wire::Message& message, double other_square = 0);
  void OnFetch(const wire::Header& header);
  void SendWeights(const Member& member);
  void OnHeartbeat(const std::string& peer, const wire::Header& header);

  // check
  wire::Outcome CheckGradient(const wire::Message& message, double other_square, Member*& member,
                              Received& received);
  void Journal(const wire::Message& message, wire::Outcome outcome);
  wire::Outcome SpendGrant(const wire::Gradient& gradient, Received received, Member& member);

  // answer
  void SendAnswers(const std::vector<Pipeline::Applied>& applied);
  std::map<std::uint32_t, std::vector<wire::Grant>> TakeGrants();
  // False if the peer is gone or does not read.
  bool Say(const std::string& peer, const Member* member, const wire::Body& body,
           const wire::SharedTensor& tensor = {}, std::uint64_t version = 0);
  void Remove(std::uint32_t slot, const std::string& why);
  void FarewellTo(wire::ByeReason reason, const std::string& text);
  void OpenGate();
  void WatchGate(bool reload);
  void WatchConnections();

  // the other shards, if there are any
  void OpenShards();
  bool AwaitShards();
  void HearShards();
  void Gather(wire::Envelope envelope, const wire::Message& message);
  void HearSlice(const Shards::Heard& heard);
  void WelcomeShards();
  void JudgeWhole();
  void ForgetSlices(std::uint32_t slot, std::uint32_t incarnation);
  void AwaitParts(std::shared_ptr<const Checkpoint> checkpoint);
  void SaveWhatAllHave();
  void WatchShards();
  void SealShards();

  // finish, watch the clock, report
  void Finish();
  void SaveCheckpoint(Pipeline::Finished::Checkpoint checkpoint, bool last = false);
  void SayDiskIsSlow(std::uint64_t version);
  void CollectCheckpoints();
  void WatchStart();
  void WatchDeadlines();
  void WatchSilence();
  enum class Moment : std::uint8_t {
    kRunning,   // as often as it is due
    kFarewell,  // the actors have been sent home
    kEnd,       // the last checkpoint is written, or could not be
  };
  void Report(Moment moment);
  nlohmann::ordered_json JoinedRows(bool all);
  void ShowBulletin(const nlohmann::ordered_json& status, std::int64_t now_ms);
  bool MustStop();

  const Config config_;
  const net::ParameterLayout layout_;
  const wire::Slice slice_;  // of the weights that is ours: all of them, or that of shard 0
  const LearnerOptions options_;
  SteadyClock clock_;
  std::uint32_t term_;
  const std::uint32_t session_;
  Counters counters_;
  Roster roster_;
  JournalWriter journal_;
  MetricsFile metrics_;
  TensorBoardLog board_;
  Bell bell_;
  CheckpointWriter checkpoints_;
  wire::RunPlace place_;
  wire::SnapshotWriter snapshot_;
  NewestWeights newest_weights_;
  wire::Context context_;
  std::optional<wire::KeyPair> keys_;
  std::optional<wire::Gate> gate_;  // where there are keys; answers before the socket asks
  std::string local_key_;           // public, of the actors of this host
  wire::ServerSocket socket_;
  std::optional<Shards> shards_;
  std::optional<GradientAssembler> assembly_;  // where there are shards
  std::optional<wire::BeaconSender> beacon_;
  Pipeline pipeline_;

  std::vector<Grant> unsent_;                         // their version is not published yet
  std::map<std::uint64_t, std::int64_t> granted_ms_;  // live grants by number: when they were sent
  std::vector<std::size_t> unwelcomed_;               // shards that have said hello
  // Checkpoints of which other shards are still writing their parts, and the last one begun.
  struct Unsaved {
    std::uint64_t version = 0;
    std::shared_ptr<const Checkpoint>
        checkpoint;  // null: too many were on their way, it is given up
  };
  std::deque<Unsaved> unsaved_;
  std::optional<std::uint64_t> newest_saved_;
  std::int64_t shards_looked_ms_ = 0, unreachable_ms_ = 0;
  RateLimitedLog refusals_, slow_disk_{10'000}, strangers_{5'000}, handshakes_{5'000};
  LineBudget comings_{kComingsAtOnce, 10'000};
  std::uint64_t said_ = 0;  // messages sent
  std::string last_checkpoint_;
  std::uint64_t last_saved_ = 0;  // its version
  std::string checkpoint_trouble_;

  std::int64_t started_ms_ = 0, first_grant_ms_ = -1, last_report_ms_ = 0, last_metrics_ms_ = 0;
  std::int64_t last_alone_ms_ = 0;
  double seconds_before_ = 0;  // of earlier terms
  wire::Gradient newest_{};    // what the newest gradient said of itself
  WorkTimes times_;
  Laps laps_;
  bool journal_trouble_said_ = false;
};

}  // namespace starling::learner
