// The lives of the actors: what the random streams of a slot derive from, and the states that
// actors go on from after a restart of the learner.
//
// A life ends where its state is lost: with a killed actor, but not with a killed learner if the
// run goes on from a cut. It counts from the first gradient that arrives of it: an actor that left
// before has left no trace, and the next one takes its life over. So a run that goes on from a cut
// has the lives that it would have had.
//
// Thread safety: none; it belongs to the network thread, or to a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "learner/storage/actor_states.h"

namespace starling::learner {

class Lives {
 public:
  // `from`: the actors at the checkpoint that the run goes on from; nullopt: the run begins, or the
  // checkpoint is no cut, so `term` begins lives that no actor has had.
  Lives(std::uint32_t term, std::optional<ActorStates> from);

  // The life of an actor that joins in `slot`.
  struct Life {
    std::uint32_t number = 0;
    const ActorState* state = nullptr;  // to be restored; nullptr: the life is fresh
  };
  Life Of(std::uint32_t slot) const;
  // The state of `slot` is of no use to its actor: its next life is fresh. Returns whether there
  // was one.
  bool Discard(std::uint32_t slot) { return states_.erase(slot) > 0; }

  // The first gradient of an actor of `slot` has arrived: its state, if one waited, is used up.
  // `life`: the actor's, as Of returned it.
  void Begin(std::uint32_t slot, std::uint32_t life);

  // The states that no actor has used yet, by slot.
  const std::map<std::uint32_t, ActorState>& waiting() const { return states_; }
  // Returns these states and the counts, to which the caller adds the states of living actors.
  ActorStates Save() const;

 private:
  std::uint32_t base_;
  std::map<std::uint32_t, std::uint32_t> begun_;
  std::map<std::uint32_t, ActorState> states_;
};

}  // namespace starling::learner
