// A seat in a run, for a program of the user's that computes gradients of an external net
// (net.kind): an actor's end of the wire (actors/learner_client.h), with a thread that joins and,
// while the program computes, listens and beats. A program that makes no call for longer than the
// learner waits for a gradient counts as hung: then the thread is silent, too, so that the learner
// turns it out, and the supervisor replaces it.
//
// Thread safety: none but for that thread; one caller at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "actors/learner_client.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "envs/env.h"
#include "net/parameters.h"
#include "wire/protocol.h"
#include "wire/snapshot.h"

namespace starling::actors {

// Milliseconds that a call may wait; kForever: as long as it takes.
using WaitMs = std::int64_t;

// There was none within ClientOptions::connect_timeout_s.
class NoLearner : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Seat {
 public:
  static constexpr WaitMs kForever = LearnerClient::kForever;

  enum class Outcome {
    kDone,
    kLater,  // not in this time; call again
    kLost,   // the learner was lost: Next joins again
    kOver,   // the learner has ended the run
  };
  // What a gradient comes from.
  struct Report {
    std::uint32_t samples = 0;  // environment steps, or examples
    double policy_loss = 0, value_loss = 0, entropy = 0;
    std::vector<envs::EpisodeEnd> episodes{};  // that have ended since the last push
  };

  // Begins to join. stop_fd, `abandoned` and `clock` of `options` are not for it.
  explicit Seat(ClientOptions options);
  // Leaves.
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  // Waits until it is a member. Throws UserError if the learner refuses it or its net is not
  // external. After NoLearner, or another error, another call tries again.
  Outcome Join(WaitMs wait_ms);

  // REQUIRES, of all below: Join has returned kDone once.

  // Waits for the next grant, and joins again if the learner was lost. A grant that was not spent
  // is returned again. Throws as Join.
  Outcome Next(WaitMs wait_ms, wire::Grant& grant);
  // Updates `weights` (layout().size()) to the newest version, at least that of the grant, and
  // `meta` to their description: of what `weights` hold already, SnapshotMeta{} for nothing. What
  // another membership has brought counts as nothing.
  Outcome Weights(std::span<float> weights, wire::SnapshotMeta& meta);
  // The memory for the next gradient (layout().size()), shared with the learner if it shares
  // memory. Valid until Next or Push.
  std::span<float> GradientSpace();
  // Sends a gradient of the last Weights under the last grant, clipped to optimizer.clip_norm.
  // `gradient` is GradientSpace(), or is copied there. Throws UserError if there is no grant, the
  // weights are too old for it, or the gradient or report is none; then the grant is not spent.
  Outcome Push(std::span<const float> gradient, const Report& report);

  // Stays as it is.
  const net::ParameterLayout& layout() const { return layout_; }
  // Of the newest membership.
  Config config();
  std::uint32_t slot();
  Outcomes outcomes();  // of all

 private:
  struct Membership {
    Config config;
    std::uint32_t slot = 0;
    net::ParameterLayout layout;
  };

  // A call by the program: holds the mutex, and notes its end.
  class Call {
   public:
    explicit Call(Seat& seat) : seat_(seat), lock(seat.mutex_) {}
    ~Call() { seat_.called_ms_ = seat_.clock_.NowMs(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Seat& seat_;

   public:
    std::unique_lock<std::mutex> lock;
  };

  void Run();
  void Attend();
  bool Hangs() const;
  std::optional<Membership> TryJoin();
  bool member() const {
    return !joining_ && !failed_ && !hung_ && client_.state() == ClientState::kJoined;
  }
  void JoinAgain();
  [[noreturn]] void Rethrow();
  void CheckPush(const Report& report) const;
  double Prepare(std::span<const float> gradient);
  Outcome AwaitJoined(std::unique_lock<std::mutex>& lock, WaitMs wait_ms);
  Outcome StateOutcome();

  const SteadyClock clock_;
  const double connect_timeout_s_;
  const EventFd stop_;
  LearnerClient client_;  // of the thread while `joining_`, else of who holds `mutex_`

  std::mutex mutex_;
  std::condition_variable wake_, joined_;
  bool closing_ = false, joining_ = true;
  std::exception_ptr failed_;  // by the last attempt to join
  bool retry_ = false;         // it failed, the caller knows, and another call tries again
  std::optional<std::int64_t> lost_ms_;  // the learner was lost then, and no membership held since
  std::int64_t called_ms_ = 0;           // end of the last call
  bool hung_ = false;  // the program counts as hung: the learner hears nothing of it

  Membership member_;
  net::ParameterLayout layout_;              // of the first membership
  Outcomes outcomes_;                        // before the thread joined again
  std::optional<wire::Grant> grant_;         // not spent
  std::optional<wire::SnapshotMeta> known_;  // of the last Weights of this membership
  std::span<float> space_;                   // of the next gradient, once asked for
  std::int64_t weights_ns_ = 0;              // end of the last Weights
  std::thread thread_;                       // last: it uses the others
};

}  // namespace starling::actors
