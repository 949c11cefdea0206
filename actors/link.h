// An actor's end of the wire: join, grants, weights, push, beats.
//
// Nothing here waits for ever: a learner that is silent for wire.timeout_s is lost, and the actor
// joins again as a new incarnation.
//
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "actors/fetched_weights.h"
#include "actors/gradient_space.h"
#include "actors/rollout.h"
#include "actors/shard_links.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "wire/protocol.h"
#include "wire/snapshot.h"
#include "wire/socket.h"

namespace starling::actors {

struct LinkOptions {
  // Where the learner is, as far as is known now; asked again until it answers.
  std::function<std::optional<std::string>()> find_endpoint;
  // The keys for it; nothing, or empty: it asks for none.
  std::function<std::optional<wire::Credentials>()> find_keys{};
  std::int64_t slot = -1;  // wanted; negative: any
  double connect_timeout_s = 60;
  int stop_fd = -1;                 // readable: leave
  std::function<bool()> abandoned;  // true: leave (our parent is gone); may be empty
};

enum class LinkState {
  kUp,
  kRunOver,  // the learner said so
  kStopped,  // we were told to leave
  kLost,     // join again
  kRefused,  // the learner does not want us: text() says why
  kNobody,   // no learner within connect_timeout_s
};

class LearnerLink {
 public:
  explicit LearnerLink(LinkOptions options);
  ~LearnerLink();

  // Says hello until a welcome comes. True: up, with the run's configuration, our slot and
  // incarnation.
  bool Join();

  LinkState state() const { return state_; }
  const std::string& text() const { return text_; }
  const Config& config() const { return config_; }
  std::uint32_t slot() const { return slot_; }
  std::uint32_t incarnation() const { return incarnation_; }

  // The learner's net must be ours. False: refused. Opens what memory the learner shares with us.
  bool CheckNet(std::uint64_t fingerprint, std::size_t floats);

  // The next grant; waits for it. Nothing: look at state().
  std::optional<wire::Grant> NextGrant();

  // Brings `weights` to the newest version there is, at least `version`; `meta` tells which. Both
  // hold what the last call left in them. False: look at state().
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);

  // Where the next gradient is to be computed: where the learner reads it, if it shares memory with
  // us.
  std::span<float> NextGradientSpace() { return space_.Next(); }

  // Sends one gradient computed on `meta`'s weights under `grant`. False: look at state().
  bool Push(const wire::Grant& grant, const wire::SnapshotMeta& meta,
            const RolloutGradient& gradient, RolloutEpisodes episodes);

  // Cheap; call often: sends a heartbeat if one is due.
  void Beat();

  void SayGoodbye();

 private:
  bool TryJoin(const std::string& endpoint, std::int64_t give_up_ms);
  bool Pump(std::int64_t timeout_ms);
  void Handle(wire::Envelope envelope, const wire::Message& message);
  // `sequence`: taken before, with ++sequence_; 0: the next.
  bool Send(const wire::Body& body, const wire::SharedTensor& tensor = {},
            std::uint64_t version = 0, std::uint64_t sequence = 0);
  bool SendSoon(const wire::Body& body, const wire::SharedTensor& tensor = {},
                std::uint64_t version = 0, std::uint64_t sequence = 0);
  void OpenShards(std::size_t floats);
  bool PushSlices(std::uint64_t sequence, std::uint64_t base,
                  const std::shared_ptr<const float[]>& values);
  bool RenewSlices(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  bool Fetch(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  void ExpectWeights();
  bool WeightsFollow() const;
  bool Renew(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);
  void ListenForVersions();
  std::int64_t AnswerMs() const;
  std::int64_t FetchAgainMs() const;
  std::uint32_t UsSince(std::int64_t begin_ns) const;
  void HearLastWords();
  void WatchTime();
  bool Leaving();
  bool LearnerMoved() const;

  const LinkOptions options_;
  SteadyClock clock_;
  wire::Context context_;
  std::unique_ptr<wire::ClientSocket> socket_;
  std::unique_ptr<wire::BeaconReceiver> beacon_;  // while a version is waited for
  std::optional<wire::SnapshotReader> reader_;
  std::optional<ShardLinks> shards_;  // where the learner is several processes
  wire::SnapshotMeta first_meta_;     // there: of the first slice of the weights
  GradientSpace space_;

  LinkState state_ = LinkState::kLost;
  std::string text_;
  std::string endpoint_;  // of the learner we speak with
  std::optional<wire::Credentials> keys_;
  Config config_;
  wire::Welcome welcome_;
  std::uint64_t fingerprint_ = 0;
  std::uint32_t slot_ = 0, incarnation_ = 0, term_ = 0, session_ = 0;
  std::uint64_t sequence_ = 0;
  std::deque<wire::Grant> grants_;
  FetchedWeights fetched_;
  bool granted_ = false;        // ever, as this incarnation
  std::size_t unanswered_ = 0;  // gradients
  std::int64_t heard_ms_ = 0, beat_ms_ = 0, looked_ms_ = 0, pushed_ms_ = 0;
  // Spent on the grant and the weights of the last unroll, and on the last push.
  std::uint32_t wait_us_ = 0, refresh_us_ = 0, push_us_ = 0;
};

}  // namespace starling::actors
