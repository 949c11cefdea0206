#include "tools/replay/without_actor.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "learner/apply/schedule.h"
#include "wire/protocol.h"

namespace starling::replay {

using learner::JournalRecord;

namespace {

using Records = std::vector<JournalRecord>;

// Returns the slot of the actor that a record is about, if it is about one.
std::optional<std::uint32_t> SlotOf(const JournalRecord& record) {
  return std::visit(
      [](const auto& one) -> std::optional<std::uint32_t> {
        if constexpr (requires { one.slot; }) {
          return one.slot;
        } else {
          return std::nullopt;
        }
      },
      record);
}

}  // namespace

WithoutActor::WithoutActor(const Config& config, std::uint32_t slot, std::uint64_t after,
                           const Beginning& beginning)
    : config_(config),
      slot_(slot),
      after_(after),
      version_(beginning.state.version),
      steps_(beginning.state.steps) {
  if (!beginning.actors) return;
  for (const learner::ActorState& actor : beginning.actors->actors) {
    if (actor.slot == slot_) incarnation_ = actor.incarnation;
  }
}

Records WithoutActor::Begin() { return version_ == after_ ? Kill() : Records{}; }

Records WithoutActor::Kill() {
  killed_ = true;
  if (!incarnation_) return {};
  return {learner::DeathRecord{slot_, *incarnation_}};
}

Records WithoutActor::Rewrite(const JournalRecord& record) {
  if (killed_ && SlotOf(record) == slot_) return {};
  if (killed_) return Changed(record);
  // Before that it is the run's.
  Follow(record);
  Records same = {record};
  const auto* update = std::get_if<learner::UpdateRecord>(&record);
  if (update == nullptr) return same;
  version_ = update->version;
  steps_ = update->steps;
  for (const auto& item : update->items) {
    held_.erase({item.slot, item.incarnation, item.sequence});
  }
  if (version_ == after_) std::ranges::move(Kill(), std::back_inserter(same));
  return same;
}

// Keeps what later updates need to know.
void WithoutActor::Follow(const JournalRecord& record) {
  if (std::holds_alternative<learner::TermRecord>(record)) {
    held_.clear();
    counted_.clear();
    incarnation_.reset();  // all actors join again
  } else if (const auto* join = std::get_if<learner::JoinRecord>(&record)) {
    if (join->slot == slot_) incarnation_ = join->incarnation;
  } else if (const auto* death = std::get_if<learner::DeathRecord>(&record)) {
    if (death->slot == slot_) incarnation_.reset();
  } else if (const auto* use = std::get_if<learner::UseRecord>(&record)) {
    if (use->use == 0) counted_[{use->slot, use->incarnation}] = false;
  } else if (const auto* arrival = std::get_if<learner::ArrivalRecord>(&record)) {
    Hold(*arrival);
  }
}

// The steps of an unroll count with the first of its gradients that is held (learner/engine.cc).
void WithoutActor::Hold(const learner::ArrivalRecord& arrival) {
  if (arrival.outcome != static_cast<std::uint8_t>(wire::Outcome::kNone)) return;
  bool& counted = counted_[{arrival.slot, arrival.incarnation}];
  const bool first = config_.gradients_per_unroll() == 1 || !counted;
  counted = true;
  const auto minibatches = static_cast<std::uint64_t>(config_.updates.minibatches);
  held_[{arrival.slot, arrival.incarnation, arrival.sequence}] = {
      .base = arrival.base_version,
      .samples = arrival.samples,
      .steps = first ? arrival.samples * minibatches : 0};
}

Records WithoutActor::Changed(JournalRecord record) {
  if (const auto* update = std::get_if<learner::UpdateRecord>(&record)) return Changed(*update);
  // The weights are others.
  if (std::holds_alternative<learner::HashRecord>(record)) return {};
  if (auto* term = std::get_if<learner::TermRecord>(&record)) {
    term->version = NewVersion(term->version);
    term->steps = steps_;
  } else if (auto* first = std::get_if<learner::EntropyRecord>(&record)) {
    first->entropy = learner::EntropyCoef(config_.loss, config_.run.steps, steps_);
  } else if (auto* grant = std::get_if<learner::GrantRecord>(&record)) {
    grant->version = NewVersion(grant->version);
  } else if (auto* use = std::get_if<learner::UseRecord>(&record)) {
    use->played = NewVersion(use->played);
  } else if (auto* arrival = std::get_if<learner::ArrivalRecord>(&record)) {
    arrival->base_version = NewVersion(arrival->base_version);
    arrival->norm = 0;  // not known yet
  }
  Follow(record);
  return {record};
}

Records WithoutActor::Changed(const learner::UpdateRecord& update) {
  // 1. The gradients that are left. The actor's own were held when it was killed.
  learner::UpdateRecord changed{.version = version_ + 1};
  std::vector<learner::Contribution> contributions;
  std::uint64_t samples = 0, steps = 0;
  for (const auto& item : update.items) {
    const auto held = held_.extract({item.slot, item.incarnation, item.sequence});
    if (held.empty() && item.slot == slot_) {
      ++left_out_;
      continue;
    }
    const Held gradient = held ? held.mapped() : Held{};
    changed.items.push_back(item);
    contributions.push_back(
        {.samples = gradient.samples, .staleness = changed.version - 1 - gradient.base});
    samples += gradient.samples;
    steps += gradient.steps;
  }
  if (changed.items.empty()) {
    gone_.push_back(update.version);
    return {};
  }
  // 2. Their step, by the rules of the pipeline (learner/pipeline.cc).
  changed.lr = learner::LearningRate(config_.optimizer, config_.run.steps, steps_, steps) *
               learner::LrScale(config_.optimizer, samples);
  changed.scale = learner::DampingScale(config_.staleness, contributions);
  steps_ += steps;
  changed.steps = steps_;
  changed.entropy = learner::EntropyCoef(config_.loss, config_.run.steps, steps_);
  version_ = changed.version;
  return {changed};
}

// Returns the branch's version at the moment when `version` was the newest of the run.
std::uint64_t WithoutActor::NewVersion(std::uint64_t version) const {
  const auto before = std::ranges::upper_bound(gone_, version) - gone_.begin();
  return version - static_cast<std::uint64_t>(before);
}

}  // namespace starling::replay
