#include "learner/lives.h"

#include <utility>

#include "wire/protocol.h"

namespace starling::learner {

Lives::Lives(std::uint32_t term, std::optional<ActorStates> from)
    : base_(from ? from->base : term) {
  if (!from) return;
  begun_ = std::move(from->begun);
  for (ActorState& actor : from->actors) {
    const std::uint32_t slot = actor.slot;
    states_.insert_or_assign(slot, std::move(actor));
  }
}

Lives::Life Lives::Of(std::uint32_t slot) const {
  if (const auto saved = states_.find(slot); saved != states_.end()) {
    return {saved->second.life, &saved->second};
  }
  const auto begun = begun_.find(slot);
  return {wire::MakeIncarnation(base_, begun == begun_.end() ? 0 : begun->second)};
}

void Lives::Begin(std::uint32_t slot, std::uint32_t life) {
  if (states_.erase(slot) > 0) return;
  // A replay meets the lives of a term that did not go on from a cut.
  if (const std::uint32_t term = wire::TermOf(life); term != 0 && term != base_) {
    base_ = term;
    begun_.clear();
  }
  begun_[slot] = wire::LifeOf(life) + 1;
}

ActorStates Lives::Save() const {
  ActorStates states{.base = base_, .begun = begun_};
  for (const auto& [slot, actor] : states_) states.actors.push_back(actor);
  return states;
}

}  // namespace starling::learner
