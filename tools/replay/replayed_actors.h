// The actors of a replay: a rollout for each life, over the terms of the run.
//
// Invariant: an actor leaves a trace from its first gradient on, as in a learner (learner/lives.h).
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/rollout.h"
#include "core/config/config.h"
#include "learner/lives.h"
#include "learner/storage/journal.h"

namespace starling::replay {

// A record that does not fit the actors before it: a whole sentence.
class ActorError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ReplayedActors {
 public:
  // `from`: the actors at the cut where the replay begins; nullopt: the run begins.
  ReplayedActors(const Config& config, std::optional<learner::ActorStates> from);

  // A learner starts, or restarts. Actors that live now may be restored in this term.
  void Begin(std::uint32_t term);
  // Returns whether a state that waited for the actor was of no use to it.
  bool OnLife(const learner::LifeRecord& life);
  void OnDeath(const learner::DeathRecord& death);

  // The actor of this gradient, before its unroll. Throws ActorError.
  actors::Rollout& Of(const learner::ArrivalRecord& arrival);

  // The actors now. The gradients that their last unrolls have left are no part of it.
  learner::ActorStates Save();
  // Whether there are any.
  bool mid_unroll() const;

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // slot, incarnation
  struct Actor {
    std::int64_t envs = 0;
    std::unique_ptr<actors::Rollout> rollout;
  };
  std::int64_t EnvsOf(const learner::ArrivalRecord& arrival) const;
  Actor Make(Key key, std::int64_t envs);
  Actor Restore(Key key, const learner::ActorState& state, std::int64_t envs);
  std::unique_ptr<actors::Rollout> NewRollout(std::uint32_t slot, std::uint32_t life,
                                              std::int64_t envs) const;

  const Config config_;
  std::uint32_t term_ = 0;
  std::optional<learner::Lives> lives_;  // nullopt before the first term
  std::map<Key, Actor> living_;
  std::map<std::uint32_t, Actor> idle_;         // by slot; states that wait, not as bytes
  std::map<Key, learner::LifeRecord> records_;  // of actors without a gradient
};

}  // namespace starling::replay
