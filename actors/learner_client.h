// An actor's end of the wire: it joins, receives grants and weights, pushes gradients, and beats.
//
// Every wait ends when the learner is silent for wire.timeout_s, and a wait for an answer at its
// deadline. Then the learner counts as lost, and the actor joins again as a new incarnation.
//
// Thread safety: none; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/gradient_message.h"
#include "actors/rollout.h"
#include "actors/shard_links.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "wire/codec.h"
#include "wire/protocol.h"
#include "wire/snapshot.h"
#include "wire/socket.h"

namespace starling::actors {

struct ClientOptions {
  // Returns the learner's endpoint as far as it is known now; asked again until the learner
  // answers.
  std::function<std::optional<std::string>()> find_endpoint;
  // Returns the keys for it, or nullopt if it needs none; may be empty.
  std::function<std::optional<wire::Credentials>()> find_keys{};
  std::int64_t slot = -1;  // the slot to ask for; negative: any
  double connect_timeout_s = 60;
  bool stays = false;                 // look for the next learner when this one is told to stop
  int stop_fd = -1;                   // readable: leave
  std::function<bool()> abandoned{};  // true: leave (the parent is gone); may be empty
  // Called after ten seconds without a learner, then every five minutes, with the milliseconds that
  // are left of connect_timeout_s; may be empty.
  std::function<void(std::int64_t left_ms)> on_waiting{};
  const Clock* clock = nullptr;  // nullptr: the steady clock
};

enum class ClientState {
  kLost,         // not a member: Join has not been called, or the learner is lost
  kJoined,       // a member
  kRunOver,      // the learner has ended the run
  kStopped,      // stop_fd or `abandoned` asked it to leave
  kRefused,      // the learner does not accept this actor: text() has the reason
  kUnreachable,  // no learner within connect_timeout_s
};

// The fate of gradients, as far as it was heard.
struct Outcomes {
  std::array<std::uint64_t, wire::kOutcomes> counts{};  // by wire::Outcome
  wire::Outcome last_refusal = wire::Outcome::kNone;
};

// Thrown out of a wait by LearnerClient::BeatWaiting.
class AskedToLeave {};

// Weights that arrive in messages, requested or sent unasked behind a grant, until they are used.
class FetchedWeights {
 public:
  // One more message with weights is on its way. If none has come by `again_ms`, ask (again).
  void Expect(std::int64_t again_ms) { ++coming_, again_ms_ = again_ms; }
  // It takes longer.
  void Extend(std::int64_t again_ms) { again_ms_ = again_ms; }
  // None is on its way any more: it was lost.
  void GiveUp() { coming_ = 0; }
  std::int64_t coming() const { return coming_; }
  bool MustAsk(std::int64_t now_ms) const { return coming_ == 0 || now_ms >= again_ms_; }
  // Weights of `version` or newer are here, or may be on their way.
  bool MaySuit(std::uint64_t version) const { return coming_ > 0 || Here(version); }

  bool Here(std::uint64_t version) const { return here_ && here_->meta.version >= version; }

  // `message` points into the envelope. Replaces earlier weights.
  void Add(wire::Envelope envelope, const wire::Message& message);
  // Moves them into `weights` if they are as many and of at least `version`; otherwise discards
  // them.
  bool Take(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);

 private:
  struct Newest {
    wire::Envelope envelope;
    wire::SnapshotMeta meta;
    wire::Message message;  // points into the envelope
  };
  std::optional<Newest> here_;
  std::int64_t coming_ = 0, again_ms_ = 0;
};

class LearnerClient {
 public:
  static constexpr std::int64_t kForever = std::int64_t{1} << 53;  // milliseconds

  explicit LearnerClient(ClientOptions options);
  ~LearnerClient();

  // Sends hello until a welcome arrives. Returns true if the actor is a member: then config(),
  // slot() and incarnation() are those of the welcome. Otherwise state() has the reason. `fresh`:
  // the state that the learner has for it is of no use to it.
  bool Join(bool fresh = false);

  ClientState state() const { return state_; }
  const std::string& text() const { return text_; }
  const Config& config() const { return session_->config; }
  // Whether no other process can have taken the learner's place: it has shown the key that this
  // actor was given, or no other user may open sockets where it listens.
  bool proven() const { return session_->proven; }
  std::uint32_t slot() const { return session_->header.slot; }
  std::uint32_t incarnation() const { return session_->header.incarnation; }
  std::uint32_t life() const { return session_->welcome.life; }  // of fresh random streams
  const wire::Welcome& welcome() const { return session_->welcome; }
  std::uint32_t term() const { return session_->header.term; }  // of the learner
  const Outcomes& outcomes() const { return outcomes_; }        // of all memberships
  // Whether the learner has a state for it to go on from; and that state, or nullopt if the
  // client's state has changed.
  bool has_state() const { return session_->welcome.state > 0; }
  std::optional<std::vector<std::byte>> FetchState();
  // `save` appends the actor's state; nothing if it cannot be saved. Called by NextGrant, when the
  // learner asks for it. Holds until it is replaced.
  void SaveWith(std::function<void(std::vector<std::byte>&)> save) { save_ = std::move(save); }

  // Opens the memory that the learner shares. Returns false if the learner's net differs (kRefused)
  // or the learner has gone.
  bool CheckNet(std::uint64_t fingerprint, std::size_t floats);

  // Waits for the next grant. Returns nullopt if the state has changed, or after `wait_ms`.
  std::optional<wire::Grant> NextGrant(std::int64_t wait_ms = kForever);
  // The next grant, if it is here and Refresh would not wait for its weights, and if the learner
  // does not ask for the state. `held` describes the weights that the caller has.
  std::optional<wire::Grant> GrantAhead(const wire::SnapshotMeta& held);
  // Tells the learner that the unroll of this acting grant is played, and waits until the grant is
  // renewed. Returns nullopt if the state has changed.
  std::optional<wire::Grant> Acted(const wire::Grant& grant);

  // Updates `weights` to the newest version, and `meta` to its description. Without shared memory
  // it keeps weights that are at least `version` already. With a delay it updates them to exactly
  // `version`, or to the newest if that is not there any more: then its grant has ended. Returns
  // false if the state has changed. REQUIRES: both are unchanged since the last call, but for
  // rounding to wire.weights.
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);

  // If the next grant is here and requires other weights than those that `held` describes, asks for
  // them, so that they come in while a gradient is computed. Does nothing if they are in shared
  // memory or on their way. (The weights for a grant that is not here yet follow it: Push.)
  void Prefetch(const wire::SnapshotMeta& held);

  // The memory for the next gradient: shared with the learner if it shares memory.
  std::span<float> NextGradientSpace() { return session_->space.Next(); }

  // Sends one gradient computed on `meta`'s weights under `grant`, of an unroll that the weights of
  // version `played` played. Returns false if the state has changed.
  bool Push(const wire::Grant& grant, const wire::SnapshotMeta& meta, std::uint64_t played,
            const RolloutGradient& gradient, const RolloutEpisodes& episodes);

  // Sends a heartbeat if one is due. Cheap: call it often.
  void Beat();
  // The same, and handles the messages that are here. REQUIRES: state() is kJoined.
  void Attend() { Pump(0); }
  // The same, while an environment is waited for that was asked so long ago. Throws AskedToLeave
  // after a second, if stop_fd or `abandoned` asks this actor to leave.
  void BeatWaiting(std::int64_t asked_ms);

  void SayGoodbye();

 private:
  // Longest waits at a time: for room in a queue, or a learner; and for messages.
  static constexpr std::int64_t kPollMs = 20, kPumpMs = 50;

  // When something is overdue, in milliseconds.
  struct Deadlines {
    std::int64_t silence = 0;  // the learner is lost if it has sent nothing by then
    // Received over its connection at the last message or IsArriving; nullopt: unknown.
    std::optional<std::uint64_t> bytes{};
    std::int64_t answer = 0;              // ... or has not answered the last gradient
    std::optional<std::int64_t> grant{};  // ... or has sent no grant since it was waited for
    std::int64_t endpoint = 0;            // next check for a new learner
    std::int64_t beat = 0;                // of the steady clock: the next heartbeat
  };
  // Everything that belongs to one membership. A new join replaces all of it.
  struct Session {
    std::string endpoint;                   // of the learner
    std::optional<wire::Credentials> keys;  // for it
    bool proven = false;
    std::unique_ptr<wire::ClientSocket> socket;
    wire::Welcome welcome{};
    Config config{};
    wire::Header header{};       // slot, incarnation, term, session and fingerprint of the welcome
    std::uint64_t sequence = 0;  // of the last message sent
    Deadlines deadlines{};

    std::deque<wire::Grant> grants{};
    std::int64_t granted_ns = 0;             // when the last one was taken; 0: never
    std::optional<std::int64_t> waits_ns{};  // since when the next one is waited for
    std::int64_t far_grants = 0;  // so many more are likely to be waited for, and their weights
    std::size_t unanswered = 0;   // gradients

    std::optional<wire::SnapshotReader> reader{};
    std::unique_ptr<wire::BeaconReceiver> beacon{};  // while it waits for a version
    FetchedWeights fetched{};
    std::vector<std::byte> fetched_state{};
    std::uint64_t cut = 0;  // the learner asks for the state at this version; 0: it does not
    std::optional<ShardLinks> shards{};  // if the learner is several processes
    wire::SnapshotMeta first_meta{};     // with `shards`: of the first slice of the weights
    GradientSpace space{};

    // A learner that leaves a gradient unanswered for so long is lost. It holds a gradient at most
    // until the other grants expire: staleness.deadline_s, or two where unrolls renew them. One
    // more deadline is a margin.
    std::int64_t AnswerMs() const;
    // The same for a grant: with a delay actors take turns, each of which may take as long.
    std::int64_t GrantMs() const;
    // Returns whether an unroll under a grant of `version` may use the weights that are held.
    bool Suits(const wire::SnapshotMeta& held, std::uint64_t version) const {
      if (held.term != header.term) return false;
      return config.staleness.delayed() ? held.version == version : held.version >= version;
    }
    // Weights that have not arrived after so long are requested again.
    std::int64_t FetchAgainMs() const;
    wire::ElementType gradient_type() const { return wire::ElementTypeOf(config.wire.gradient); }
    wire::ElementType weights_type() const { return wire::ElementTypeOf(config.wire.weights); }
    void ExpectWeights(std::int64_t now_ms) { fetched.Expect(now_ms + FetchAgainMs()); }
  };

  // join
  void NoteWaiting(std::int64_t give_up_ms);
  bool TryJoin(const std::string& endpoint, bool fresh, std::int64_t give_up_ms);
  void OpenSession(const std::string& endpoint);
  void AwaitLastWords();

  // send
  bool Send(const wire::Body& body);
  bool SendMessage(std::uint64_t sequence, const wire::Body& body,
                   const wire::SharedTensor& tensor = {}, std::uint64_t version = 0);
  bool SendSoon(std::uint64_t sequence, const wire::Body& body,
                const wire::SharedTensor& tensor = {}, std::uint64_t version = 0);
  bool PushSlices(std::uint64_t sequence, std::uint64_t base,
                  const std::shared_ptr<const float[]>& values);

  // receive
  bool Pump(std::int64_t timeout_ms);
  wire::Grant TakeGrant(std::int64_t begin);
  void Handle(wire::Envelope envelope, const wire::Message& message);
  void OnWelcome(const wire::Header& header, const wire::Welcome& welcome);
  bool DiscardPaths();
  void OnAnswer(const wire::Answer& answer);
  void AddGrant(const wire::Grant& grant);

  // states
  void OnState(const wire::State& part);
  bool SendState();

  // weights
  bool RefreshWhole(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  bool ReadShared(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  bool RefreshSlices(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  bool Fetch(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  bool Ask(std::uint64_t version);
  void ListenForVersions();

  // time
  void CheckDeadlines();
  bool IsArriving();
  bool MustLeave();
  bool LearnerMoved() const;
  std::uint32_t UsSince(std::int64_t begin_ns) const;
  void Lose(const std::string& why);

  const ClientOptions options_;
  const SteadyClock steady_clock_;
  const Clock& real_;   // counts while the process is stopped, too: durations, heartbeats
  RunningClock clock_;  // measures silences and deadlines
  wire::Context context_;

  ClientState state_ = ClientState::kLost;
  std::string text_;
  std::optional<Session> session_;
  std::function<void(std::vector<std::byte>&)> save_;
  Outcomes outcomes_;
  std::int64_t note_ms_ = 0;  // of clock_: when on_waiting is called next
  // Spent on the grant and the weights of the last unroll, and on the last push.
  std::uint32_t wait_us_ = 0, prefetch_us_ = 0, refresh_us_ = 0, push_us_ = 0;
};

}  // namespace starling::actors
