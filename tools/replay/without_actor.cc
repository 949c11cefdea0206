#include "tools/replay/without_actor.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
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
      steps_(beginning.state.steps),
      steps_of_run_(beginning.state.steps) {
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
  const auto* update = std::get_if<learner::UpdateRecord>(&record);
  if (killed_) {
    if (update != nullptr) return ChangedUpdate(*update);
    if (SlotOf(record) != slot_) return Changed(record);
    // Its gradients are still needed: to check the step of the run's updates.
    const bool of_gradient = std::holds_alternative<learner::ArrivalRecord>(record) ||
                             std::holds_alternative<learner::UseRecord>(record);
    if (of_gradient) Follow(record);
    return {};
  }
  // Before that it is the run's.
  Follow(record);
  Records same = {record};
  if (update == nullptr) return same;
  version_ = update->version;
  steps_ = steps_of_run_ = update->steps;
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
      .base = NewVersion(arrival.base_version),
      .base_of_run = arrival.base_version,
      .samples = arrival.samples,
      .steps = first ? arrival.samples * minibatches : 0,
      .left_out = killed_ && arrival.slot == slot_};
}

Records WithoutActor::Changed(JournalRecord record) {
  Follow(record);
  if (const auto* hash = std::get_if<learner::HashRecord>(&record)) {
    if (hash->version > after_) return {};  // the weights are others
  } else if (auto* term = std::get_if<learner::TermRecord>(&record)) {
    steps_of_run_ = term->steps;
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
  return {record};
}

Records WithoutActor::ChangedUpdate(const learner::UpdateRecord& update) {
  // 1. The gradients that are left. Those of the actor that had arrived before its death stay.
  learner::UpdateRecord changed{.version = version_ + 1}, of_run;
  Step step, step_of_run;
  for (const auto& item : update.items) {
    const auto held = held_.extract({item.slot, item.incarnation, item.sequence});
    const Held gradient = held ? held.mapped() : Held{};  // a replay says that it never arrived
    step_of_run.Add(gradient, update.version - 1 - gradient.base_of_run);
    if (gradient.left_out) {
      ++left_out_;
    } else {
      changed.items.push_back(item);
      step.Add(gradient, changed.version - 1 - gradient.base);
    }
  }
  // 2. The step of the run must be that of the configuration.
  step_of_run.Write(config_, std::exchange(steps_of_run_, update.steps), of_run);
  const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); };
  if (other_schedule_ == 0 && !(same(of_run.lr, update.lr) && same(of_run.scale, update.scale) &&
                                same(of_run.entropy, update.entropy))) {
    other_schedule_ = update.version;
  }
  // 3. The step of the branch.
  if (changed.items.empty()) {
    gone_.push_back(update.version);
    return {};
  }
  step.Write(config_, steps_, changed);
  steps_ = changed.steps;
  version_ = changed.version;
  return {changed};
}

void WithoutActor::Step::Add(const Held& gradient, std::uint64_t staleness) {
  if (gradient.samples == 0) return;
  contributions.push_back({.samples = gradient.samples, .staleness = staleness});
  samples += gradient.samples;
  steps += gradient.steps;
}

// By the rules of the pipeline (learner/pipeline.cc).
void WithoutActor::Step::Write(const Config& config, std::uint64_t steps_before,
                               learner::UpdateRecord& update) const {
  update.lr = learner::LearningRate(config.optimizer, config.run.steps, steps_before, steps) *
              learner::LrScale(config.optimizer, samples);
  update.scale = contributions.empty() ? 1 : learner::DampingScale(config.staleness, contributions);
  update.steps = steps_before + steps;
  update.entropy = learner::EntropyCoef(config.loss, config.run.steps, update.steps);
}

// Returns the branch's version at the moment when `version` was the newest of the run.
std::uint64_t WithoutActor::NewVersion(std::uint64_t version) const {
  const auto before = std::ranges::upper_bound(gone_, version) - gone_.begin();
  return version - static_cast<std::uint64_t>(before);
}

}  // namespace starling::replay
