#include "tools/replay/replayed_actors.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state_bytes.h"
#include "wire/protocol.h"

namespace starling::replay {

ReplayedActors::ReplayedActors(const Config& config, std::optional<learner::ActorStates> from)
    : config_(config) {
  if (from) lives_.emplace(from->base, std::move(from));
}

void ReplayedActors::Begin(std::uint32_t term) {
  term_ = term;
  records_.clear();
  if (!lives_) {
    lives_.emplace(term, std::nullopt);
    return;
  }
  // The rollouts wait as they are: few of them are ever needed as bytes.
  learner::ActorStates states = lives_->Save();
  for (auto& [key, actor] : living_) {
    states.actors.push_back(
        {.slot = key.first, .incarnation = key.second, .life = actor.rollout->life()});
    idle_[key.first] = std::move(actor);
  }
  living_.clear();
  lives_.emplace(term, std::move(states));
}

bool ReplayedActors::OnLife(const learner::LifeRecord& life) {
  records_[{life.slot, life.incarnation}] = life;
  if (life.restored != 0) return false;
  idle_.erase(life.slot);
  return lives_->Discard(life.slot);  // its learner has done so, too
}

void ReplayedActors::OnDeath(const learner::DeathRecord& death) {
  const Key key{death.slot, death.incarnation};
  living_.erase(key);
  records_.erase(key);
  // It may have joined before the cut.
  const auto state = lives_->waiting().find(death.slot);
  if (state != lives_->waiting().end() && state->second.incarnation == death.incarnation) {
    lives_->Discard(death.slot);
  }
}

// Returns the number of envs, which may differ between actors but never changes.
std::int64_t ReplayedActors::EnvsOf(const learner::ArrivalRecord& arrival) const {
  const std::int64_t unroll = config_.actors.unroll;
  const std::int64_t samples = arrival.samples * config_.updates.minibatches;
  if (samples < 1 || samples > kMaxSamples || samples % unroll != 0) {
    throw ActorError(fmt::format(
        "the gradients of actor {} have {} samples an unroll, which should be whole unrolls of "
        "actors.unroll = {}, at most {}",
        arrival.slot, samples, unroll, kMaxSamples));
  }
  return samples / unroll;
}

actors::Rollout& ReplayedActors::Of(const learner::ArrivalRecord& arrival) {
  const Key key{arrival.slot, arrival.incarnation};
  const std::int64_t envs = EnvsOf(arrival);
  auto known = living_.find(key);
  if (known == living_.end()) known = living_.emplace(key, Make(key, envs)).first;
  if (known->second.envs != envs) {
    throw ActorError(fmt::format(
        "a gradient of actor {} has {} samples, and its last one had {}", arrival.slot,
        arrival.samples, known->second.envs * config_.actors.unroll / config_.updates.minibatches));
  }
  return *known->second.rollout;
}

// The actor's first gradient: its life begins, or goes on.
ReplayedActors::Actor ReplayedActors::Make(Key key, std::int64_t envs) {
  const auto [slot, incarnation] = key;
  if (!lives_) throw ActorError("a gradient comes before the first term");
  // 1. It goes on from the state of its slot. An actor that joined before the cut where the replay
  //    begins has no record here.
  const auto record = records_.extract(key);
  const learner::Lives::Life known = lives_->Of(slot);
  const bool before = !record && term_ == 0;
  if (record ? record.mapped().restored != 0 : before && known.state != nullptr) {
    if (known.state == nullptr) {
      throw ActorError(fmt::format("actor {} is restored from no state", slot));
    }
    Actor actor = Restore(key, *known.state, envs);
    lives_->Begin(slot, known.number);
    return actor;
  }
  // 2. Or it is fresh. Where lives derive from a later term than before, no state was restored.
  const std::uint32_t life = record ? record.mapped().life : before ? known.number : incarnation;
  if (term_ != 0 && wire::TermOf(life) == term_ && lives_->Save().base != term_) {
    lives_.emplace(term_, std::nullopt);
    idle_.clear();
  }
  lives_->Discard(slot);
  idle_.erase(slot);
  lives_->Begin(slot, life);
  return {envs, NewRollout(slot, life, envs)};
}

ReplayedActors::Actor ReplayedActors::Restore(Key key, const learner::ActorState& state,
                                              std::int64_t envs) {
  auto idle = idle_.extract(key.first);
  if (idle) return std::move(idle.mapped());
  Actor actor{envs, NewRollout(key.first, state.life, envs)};
  try {
    actor.rollout->Restore(state.state);
  } catch (const StateError& error) {
    throw ActorError(
        fmt::format("the saved state of actor {} does not fit: {}", key.first, error.what()));
  }
  return actor;
}

std::unique_ptr<actors::Rollout> ReplayedActors::NewRollout(std::uint32_t slot, std::uint32_t life,
                                                            std::int64_t envs) const {
  Config config = config_;
  config.actors.envs_per_actor = envs;
  return std::make_unique<actors::Rollout>(config, slot, life);
}

bool ReplayedActors::mid_unroll() const {
  return std::ranges::any_of(living_,
                             [](const auto& actor) { return actor.second.rollout->mid_unroll(); });
}

learner::ActorStates ReplayedActors::Save() {
  learner::ActorStates states = lives_->Save();
  for (learner::ActorState& waiting : states.actors) {
    const auto idle = idle_.find(waiting.slot);
    if (idle != idle_.end()) idle->second.rollout->Save(waiting.state);
  }
  for (auto& [key, actor] : living_) {
    auto& state = states.actors.emplace_back(
        learner::ActorState{key.first, key.second, actor.rollout->life()});
    actor.rollout->Save(state.state);
  }
  std::ranges::sort(states.actors, {}, &learner::ActorState::slot);
  return states;
}

}  // namespace starling::replay
