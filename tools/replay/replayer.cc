#include "tools/replay/replayer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "actors/gradient_message.h"
#include "core/check.h"
#include "core/log.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/schedule.h"
#include "wire/protocol.h"

namespace starling::replay {
namespace {

constexpr std::uint32_t kTerm = 1;  // of our snapshots, in all terms of the run

wire::SnapshotMeta Meta(std::uint64_t version) { return {.term = kTerm, .version = version}; }

}  // namespace

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Replayer::Replayer(const Config& config, JournalAhead& ahead, Beginning beginning,
                   const net::ParameterLayout& layout)
    : config_(config),
      ahead_(ahead),
      snapshot_({}, beginning.state.weights.size(), layout.fingerprint(), kTerm),
      reader_(snapshot_),
      lanes_({.optimizer = learner::MakeOptimizerSpec(config.optimizer, config.staleness),
              .size = beginning.state.weights.size(),
              .trained = layout.trained()},
             beginning.state.weights, beginning.state.optimizer_state, snapshot_,
             Meta(beginning.state.version), [this] { finished_.release(); }),
      actors_(config, std::move(beginning.actors)),
      counters_(std::move(beginning.counters)),
      gradient_(beginning.state.weights.size()),
      version_(beginning.state.version),
      steps_(beginning.state.steps),
      optimizer_step_(beginning.state.optimizer_step) {
  if (const auto expected = ahead_.HashOf(version_)) {
    CompareHash(version_, *expected, learner::HashWeights(beginning.state.weights));
  }
  Keep(version_, beginning.entropy);  // if its term goes on
}

bool Replayer::Do(const learner::JournalRecord& record) {
  if (const auto* term = std::get_if<learner::TermRecord>(&record)) {
    Begin(*term);
  } else if (const auto* first = std::get_if<learner::EntropyRecord>(&record)) {
    Keep(version_, first->entropy);
  } else if (std::holds_alternative<learner::GapRecord>(record)) {
    after_gap_ = true;
  } else if (const auto* life = std::get_if<learner::LifeRecord>(&record)) {
    if (actors_.OnLife(*life)) ++counters_.breaks;
  } else if (const auto* death = std::get_if<learner::DeathRecord>(&record)) {
    unrolls_.erase({death->slot, death->incarnation});
    actors_.OnDeath(*death);
  } else if (const auto* lost = std::get_if<learner::LostRecord>(&record)) {
    if (lost->why == learner::LostWhy::kDeadline) ++counters_.deadlines;
  } else if (const auto* use = std::get_if<learner::UseRecord>(&record)) {
    use_ = *use;
  } else if (const auto* arrival = std::get_if<learner::ArrivalRecord>(&record)) {
    Compute(*arrival);
  } else if (const auto* update = std::get_if<learner::UpdateRecord>(&record)) {
    Apply(*update);
  }
  return difference_.empty();
}

// A learner starts, or restarts at our version. Gradients that it held before are lost.
void Replayer::Begin(const learner::TermRecord& term) {
  actors_.Begin(term.term);
  held_.clear();
  unrolls_.clear();
  if (term.version != version_) {
    difference_ =
        fmt::format("the journal goes on at version {} after {}{}", term.version, version_,
                    after_gap_ ? ": a write failed between them" : ": what was between is missing");
    hole_ = true;
    return;
  }
  // Right if run.steps never changed; in newer journals an EntropyRecord follows and corrects it.
  Keep(version_, learner::EntropyCoef(config_.loss, config_.run.steps, term.steps));
}

// Computes a gradient even if it was refused, because its actor's environments have advanced.
void Replayer::Compute(const learner::ArrivalRecord& arrival) {
  // 1. The actor and the weights that it had.
  actors::Rollout* actor = nullptr;
  try {
    actor = &actors_.Of(arrival);
  } catch (const ActorError& error) {
    difference_ = error.what();
    return;
  }
  // 2. Its unroll, if this is its first gradient, and the gradient.
  const std::uint64_t use = UseOf(arrival, *actor);
  if (!difference_.empty()) return;
  std::optional<double> entropy;
  if (use == 0) {
    const std::uint64_t played = actor->recomputes() ? use_.played : arrival.base_version;
    entropy = Give(arrival, played, *actor);
    if (!entropy) return;
    actor->Act();
    unrolls_[{arrival.slot, arrival.incarnation}] = {.played = played};
  }
  if (actor->recomputes()) entropy = Give(arrival, arrival.base_version, *actor);
  if (!entropy) return;
  const actors::RolloutGradient gradient = actor->Gradient(use, *entropy, gradient_);
  wire::Gradient message = actors::GradientMessage(gradient, actor->TakeEpisodes());
  Count(arrival, message);
  if (actor->recomputes()) Forget(use_.played);
  Forget(arrival.base_version);
  if (arrival.outcome != static_cast<std::uint8_t>(wire::Outcome::kNone)) return;
  // 3. It is that of the run, as far as its norm tells, and waits for its update.
  if (arrival.norm != 0 && arrival.norm != gradient.norm) {
    difference_ =
        fmt::format("a gradient of actor {} on version {} is not the one that the run had",
                    arrival.slot, arrival.base_version);
    return;
  }
  Unroll& unroll = unrolls_.at({arrival.slot, arrival.incarnation});
  held_[{arrival.slot, arrival.incarnation, arrival.sequence}] = {
      .values = gradient_,
      .samples = gradient.samples,
      .first = !std::exchange(unroll.held, true),
      .base = arrival.base_version,
      .played = unroll.played,
      .message = std::move(message)};
}

// Returns the gradient's place among those of its unroll.
std::uint64_t Replayer::UseOf(const learner::ArrivalRecord& arrival, const actors::Rollout& actor) {
  if (!actor.recomputes()) return 0;
  const auto uses = static_cast<std::uint64_t>(config_.gradients_per_unroll());
  const bool its = use_.slot == arrival.slot && use_.incarnation == arrival.incarnation &&
                   use_.sequence == arrival.sequence;
  if (its && use_.use < uses &&
      (use_.use == 0 || unrolls_.contains({use_.slot, use_.incarnation}))) {
    return use_.use;
  }
  difference_ = fmt::format("the journal does not say of which unroll a gradient of actor {} is",
                            arrival.slot);
  return 0;
}

// Gives the actor the weights of `version`. Returns the entropy coefficient of that time, or
// nullopt if they are not there.
std::optional<double> Replayer::Give(const learner::ArrivalRecord& arrival, std::uint64_t version,
                                     actors::Rollout& actor) {
  const auto weights = versions_.find(version);
  if (weights == versions_.end()) {
    difference_ =
        fmt::format("a gradient of actor {} was computed on version {}, which is not there",
                    arrival.slot, version);
    return std::nullopt;
  }
  std::ranges::copy(weights->second.weights, actor.weights().begin());
  return weights->second.entropy;
}

// Forgets the weights of `version` if nothing more is computed on them.
void Replayer::Forget(std::uint64_t version) {
  if (ahead_.UsesOf(version) == 0) versions_.erase(version);
}

// Counts it as the engine did, which takes no episodes from a gradient with a defect. Those of a
// gradient that is held are counted with its update.
void Replayer::Count(const learner::ArrivalRecord& arrival, const wire::Gradient& message) {
  using enum wire::Outcome;
  const auto outcome = static_cast<wire::Outcome>(arrival.outcome);
  ++counters_.received;
  if (outcome != kNone) counters_.AddDropped(outcome);
  for (const auto without :
       {kNone, kDuplicate, kBadSamples, kWrongUse, kNoBuffer, kNotFinite, kNormTooLarge}) {
    if (outcome == without) return;
  }
  counters_.AddEpisodes(message);
}

void Replayer::Apply(const learner::UpdateRecord& record) {
  // 1. Take the gradients in the order of summation.
  std::vector<Gradient> gradients;
  for (const auto& item : record.items) {
    auto held = held_.extract({item.slot, item.incarnation, item.sequence});
    if (held.empty()) {
      difference_ = fmt::format("version {} holds a gradient of actor {} that never arrived",
                                record.version, item.slot);
      return;
    }
    gradients.push_back(std::move(held.mapped()));
    counters_.staleness.Add(record.version - 1 - gradients.back().base);
    counters_.AddEpisodes(gradients.back().message);
    if (config_.reuses_data()) {
      counters_.data_age.Add(record.version - 1 - gradients.back().played);
    }
  }
  ++counters_.updates;
  counters_.applied += gradients.size();
  if (gradients.size() > 1) counters_.merged += gradients.size();
  // 2. Compose the update as the learner did.
  learner::Update update;
  update.version = record.version;
  for (const Gradient& gradient : gradients) {
    update.gradients.push_back(
        {.values = gradient.values,
         .weight = learner::RelativeWeight(gradient.samples, gradients[0].samples),
         .sums = gradient.first,
         .staleness = record.version - 1 - gradient.base});
    update.samples += gradient.samples;
  }
  update.lr = record.lr;
  update.scale = record.scale;
  update.optimizer_step = ++optimizer_step_;
  update.meta = Meta(record.version);
  const auto expected = ahead_.HashOf(record.version);
  update.hash = expected.has_value();
  // 3. Apply it, compare its hash, and keep its weights for later gradients.
  CHECK(lanes_.Submit(&update), "the lane took no update {}", record.version);
  finished_.acquire();
  version_ = record.version;
  steps_ = record.steps;
  if (expected) CompareHash(version_, *expected, update.WeightsHash());
  Keep(version_, record.entropy);
  last_ = record;
  applied_.clear();
  for (Gradient& gradient : gradients) applied_.push_back(std::move(gradient.message));
}

learner::CheckpointContent Replayer::Content() {
  if (actors_.mid_unroll()) {
    LogWarn(
        "the last unrolls have gradients left, which no actor computes any more: from here on "
        "the run is not what it would have been");
    ++counters_.breaks;
  }
  return {.state = State(), .counters = counters_.Save(), .actors = actors_.Save()};
}

learner::TrainingState Replayer::State() const {
  learner::StateCopy now = lanes_.CaptureNow();
  return {.version = version_,
          .steps = steps_,
          .optimizer_step = optimizer_step_,
          .weights = std::move(now.weights),
          .optimizer_state = std::move(now.state)};
}

void Replayer::CompareHash(std::uint64_t version, std::uint64_t expected, std::uint64_t hash) {
  if (expected == hash) {
    ++hashes_;
  } else {
    difference_ = fmt::format("the weights of version {} are not those that the run had", version);
  }
}

// Keeps the weights of `version` if gradients will be computed on it.
void Replayer::Keep(std::uint64_t version, double entropy) {
  if (ahead_.UsesOf(version) == 0) return;
  Version& kept = versions_[version];
  kept = {std::vector<float>(gradient_.size()), entropy};
  wire::SnapshotMeta meta;
  CHECK(reader_.Read(version, kept.weights, meta) && meta.version == version, "version {}",
        version);
}

}  // namespace starling::replay
