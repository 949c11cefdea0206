// A fleet in virtual time: the actions of the actors and the learner as events.
//
//   An actor with a grant takes the newest weights that have reached it (refresh_ms, or 0 if it has
//   them), computes (a random time), and sends its gradient (network_ms, or delayed; the gradients
//   of one actor keep their order). Then it starts again if it holds another grant.
//   The learner receives one gradient after the other (receive_ms each) and asks the judge after
//   each. Its lanes apply one update after the other (apply_ms, merge_ms), at most two decided
//   ahead.
//   When an update is applied, its weights and the next grants leave (network_ms).
//
// Thread safety: none; one thread.
// Invariant: the events depend on the configuration alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/paced.h"
#include "learner/run_status.h"
#include "tools/simulate/virtual_learner.h"
#include "tools/simulate/workers.h"

namespace starling::simulate {

// ---- Durations, in virtual nanoseconds, from the section [simulate]

std::int64_t NsOf(double ms);  // rounded

// The lanes' time for an update of `gradients` gradients. REQUIRES: gradients >= 1.
std::int64_t ApplyNs(const SimulateConfig& simulate, std::size_t gradients);

// The random durations of one life of an actor. They depend on (run.seed, slot, life)
// and on the number of draws before, not on other actors. Envs with a pace (env.step_ms) keep the
// pace that this actor draws in a real fleet, added to its computing time; a straggler is slow in
// both.
class ActorTimes {
 public:
  ActorTimes(const Config& config, std::uint32_t slot, std::uint32_t life);

  // Draw the duration of the next unroll with its gradient, and of the next push.
  std::int64_t ComputeNs();
  std::int64_t PushNs();

 private:
  const SimulateConfig simulate_;
  const double factor_;  // straggler_factor, or 1
  const std::int64_t unroll_;
  envs::Pace pace_;
  RandomStream computes_, pushes_;
};

// ---- Events

// Virtual time and its future events. Time stands still between two events and never goes back. Of
// two events at the same time the one added first runs first, so the order depends only on the
// added events.
class EventQueue {
 public:
  using Action = std::function<void()>;

  std::int64_t now_ns() const { return now_ns_; }
  bool empty() const { return events_.empty(); }

  // Adds an event. REQUIRES: at_ns >= now_ns().
  void At(std::int64_t at_ns, Action action) {
    CHECK(at_ns >= now_ns_, "an event at {} ns, and it is {} ns", at_ns, now_ns_);
    events_.emplace(at_ns, std::move(action));
  }

  // Advances the time to the next event and runs it. REQUIRES: not empty().
  void Next() {
    CHECK(!events_.empty());
    const auto event = events_.extract(events_.begin());  // it may add others
    now_ns_ = event.key();
    event.mapped()();
  }

 private:
  std::int64_t now_ns_ = 0;
  std::multimap<std::int64_t, Action> events_;  // keeps the order of insertion of equal times
};

// ---- The fleet

class Simulator {
 public:
  // The actors join `learner` and compute in `threads` real threads. REQUIRES: no actor has joined.
  Simulator(const Config& config, VirtualLearner& learner, int threads);

  // Runs the next event. Returns false if the run is over, or stopped and idle.
  bool Step();
  // Stops receiving gradients. Decided updates are still applied and published.
  void Stop() { stopped_ = true; }

  std::int64_t now_ns() const { return events_.now_ns(); }
  learner::TimeStatus Time() const;
  std::size_t versions_kept() const { return published_.size(); }

 private:
  // A grant that has arrived, with the weights of its version if there is a delay.
  struct Granted {
    learner::Grant grant;
    std::shared_ptr<const Weights> weights{};
  };
  struct Actor {
    ActorTimes times;
    std::deque<Granted> grants{};
    bool computing = false;
    std::optional<std::uint64_t> holds{};  // version of its weights
    std::uint64_t sequence = 0;            // of its last gradient
    std::int64_t idle_since_ns = -1;       // -1 before its first grant
    std::int64_t last_arrival_ns = 0;      // at the learner, of its last gradient
    std::deque<Pushed> under_way{};        // in the order of arrival
  };
  struct Published {
    std::int64_t at_ns = 0;
    std::shared_ptr<const Weights> weights;
  };

  bool closed() const { return stopped_ || learner_.over(); }
  // Events of an actor.
  void OnGrant(const Granted& granted);
  void BeginUnroll(std::uint32_t slot);
  void EndUnroll(std::uint32_t slot);
  const std::shared_ptr<const Weights>& NewestThatHasArrived();
  // Events of the learner.
  void Arrive(std::uint32_t slot);
  void BeginReceiving();
  void EndReceiving();
  void DecideAll();
  void Publish(const std::shared_ptr<const Weights>& weights);
  void SendGrants();
  void AwaitDeadline(std::uint64_t grant);
  void Report();

  const Config config_;
  const std::int64_t network_ns_, receive_ns_, refresh_ns_;
  VirtualLearner& learner_;
  EventQueue events_;
  std::deque<Actor> actors_;         // by slot
  std::deque<Published> published_;  // those that an actor can still get, the oldest first
  std::deque<Pushed> inbox_;         // the first is being received
  std::int64_t lanes_free_ns_ = 0;
  bool stopped_ = false;
  std::uint64_t lines_ = 0;  // of metrics.jsonl due so far
  // Totals over all actors.
  std::int64_t wait_ns_ = 0, refreshed_ns_ = 0, computed_ns_ = 0, received_ns_ = 0, applied_ns_ = 0;
  Workers workers_;  // last: its threads use the members above
};

}  // namespace starling::simulate
