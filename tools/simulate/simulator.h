// A fleet in virtual time: what each actor and the learner do when, as events.
//
//   an actor that holds a grant takes the newest weights that have reached it (refresh_ms, nothing
//   if it has them), computes (a drawn time), and sends its gradient (network_ms, or delayed; an
//   actor's own never overtake each other); then it begins again if it holds another grant the
//   learner receives one gradient after the other (receive_ms each), asks the judge after each, and
//   its lanes apply one update after the other (apply_ms, merge_ms), at most two decided ahead once
//   an update is applied its weights and the next grants leave (network_ms)
//
// Thread safety: none; one thread.
// Invariant: what happens depends on the configuration alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/config/config.h"
#include "learner/status.h"
#include "tools/simulate/event_queue.h"
#include "tools/simulate/times.h"
#include "tools/simulate/virtual_learner.h"
#include "tools/simulate/workers.h"

namespace starling::simulate {

class Simulator {
 public:
  // Actors of `learner`, which nobody has joined yet, in so many real threads.
  Simulator(const Config& config, VirtualLearner& learner, int threads);

  // The next event. False if there is nothing more to do: the run is over, or was stopped.
  bool Step();
  // From now on nothing new is received; what is decided is still applied and published.
  void Stop() { stopped_ = true; }

  std::int64_t now_ns() const { return events_.now_ns(); }
  learner::TimeStatus Time() const;

 private:
  struct Actor {
    ActorTimes times;
    std::deque<learner::Grant> grants{};
    bool computing = false;
    std::optional<std::uint64_t> holds{};  // the version of its weights
    std::uint64_t sequence = 0;            // of its last gradient
    std::int64_t idle_since_ns = -1;       // waiting for a grant; before the first: not counted
    std::int64_t last_arrival_ns = 0;      // of its gradients at the learner
    std::deque<Pushed> under_way{};        // in this order
  };
  struct Published {
    std::int64_t at_ns = 0;
    std::shared_ptr<const Weights> weights;
  };

  bool closed() const { return stopped_ || learner_.over(); }
  // an actor
  void Granted(const learner::Grant& grant);
  void BeginUnroll(std::uint32_t slot);
  void EndUnroll(std::uint32_t slot);
  const std::shared_ptr<const Weights>& NewestThatHasArrived();
  // the learner
  void Arrive(std::uint32_t slot);
  void BeginReceiving();
  void EndReceiving();
  void DecideAll();
  void Publish(const std::shared_ptr<const Weights>& weights);
  void SendGrants();
  void Report();

  const Config config_;
  const std::int64_t network_ns_, receive_ns_, refresh_ns_;
  VirtualLearner& learner_;
  EventQueue events_;
  std::deque<Actor> actors_;         // by slot
  std::deque<Published> published_;  // the newest that has reached the actors, and all after it
  std::deque<Pushed> inbox_;         // the first one is being received
  std::int64_t lanes_free_ns_ = 0;
  bool stopped_ = false;
  std::uint64_t lines_ = 0;  // of metrics.jsonl that are due by now
  // Totals, of actors all together.
  std::int64_t wait_ns_ = 0, refreshed_ns_ = 0, computed_ns_ = 0, received_ns_ = 0, applied_ns_ = 0;
  Workers workers_;  // last: its threads end first
};

}  // namespace starling::simulate
