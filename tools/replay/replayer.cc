#include "tools/replay/replayer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/schedule.h"
#include "wire/protocol.h"

namespace starling::replay {
namespace {

constexpr std::uint32_t kTerm = 1;  // of our snapshots, in all terms of the run

wire::SnapshotMeta Meta(std::uint64_t version) { return {.term = kTerm, .version = version}; }

}  // namespace

Replayer::Replayer(const Config& config, JournalAhead& ahead, std::span<const float> initial,
                   std::uint64_t fingerprint)
    : config_(config),
      ahead_(ahead),
      snapshot_({}, initial.size(), fingerprint, kTerm),
      reader_(snapshot_),
      lanes_({.optimizer = learner::MakeOptimizerSpec(config.optimizer), .size = initial.size()},
             initial, {}, snapshot_, Meta(0), [this] { applied_.release(); }),
      gradient_(initial.size()) {
  if (const auto expected = ahead_.HashOf(0)) {
    CompareHash(0, *expected, learner::HashWeights(initial));
  }
}

bool Replayer::Do(const learner::JournalRecord& record) {
  if (const auto* term = std::get_if<learner::TermRecord>(&record)) {
    Begin(*term);
  } else if (const auto* first = std::get_if<learner::EntropyRecord>(&record)) {
    Keep(version_, first->entropy);
  } else if (const auto* death = std::get_if<learner::DeathRecord>(&record)) {
    actors_.erase({death->slot, death->incarnation});
  } else if (const auto* arrival = std::get_if<learner::ArrivalRecord>(&record)) {
    Compute(*arrival);
  } else if (const auto* update = std::get_if<learner::UpdateRecord>(&record)) {
    Apply(*update);
  }
  return difference_.empty();
}

// A learner starts, or restarts at our version. All actors join again.
void Replayer::Begin(const learner::TermRecord& term) {
  actors_.clear();
  held_.clear();
  if (term.version != version_) {
    difference_ = fmt::format("the journal goes on at version {} after {}", term.version, version_);
    return;
  }
  // Right if run.steps never changed; in newer journals an EntropyRecord follows and corrects it.
  Keep(version_, learner::EntropyCoef(config_.loss, config_.run.steps, term.steps));
}

// Returns the number of envs of the gradient's actor, which may differ between actors but never
// changes; nullopt if difference_ is set.
std::optional<std::int64_t> Replayer::EnvsOf(const learner::ArrivalRecord& arrival) {
  const auto known = actors_.find({arrival.slot, arrival.incarnation});
  const std::int64_t unroll = config_.actors.unroll, samples = arrival.samples;
  if (samples < 1 || samples > kMaxSamples || samples % unroll != 0) {
    difference_ = fmt::format(
        "a gradient of actor {} has {} samples, which should be whole unrolls of actors.unroll = "
        "{}, at most {}",
        arrival.slot, samples, unroll, kMaxSamples);
  } else if (known != actors_.end() && known->second.envs * unroll != samples) {
    difference_ = fmt::format("a gradient of actor {} has {} samples, and its last one had {}",
                              arrival.slot, samples, known->second.envs * unroll);
  } else {
    return samples / unroll;
  }
  return std::nullopt;
}

actors::Rollout& Replayer::ActorOf(const learner::ArrivalRecord& arrival, std::int64_t envs) {
  Actor& actor = actors_[{arrival.slot, arrival.incarnation}];
  if (actor.rollout == nullptr) {
    Config config = config_;
    config.actors.envs_per_actor = envs;
    actor = {envs, std::make_unique<actors::Rollout>(config, arrival.slot, arrival.incarnation)};
  }
  return *actor.rollout;
}

// Computes a gradient even if it was refused, because its actor's environments have advanced.
void Replayer::Compute(const learner::ArrivalRecord& arrival) {
  const auto envs = EnvsOf(arrival);
  if (!envs) return;
  const auto base = versions_.find(arrival.base_version);
  if (base == versions_.end()) {
    difference_ =
        fmt::format("a gradient of actor {} was computed on version {}, which is not there",
                    arrival.slot, arrival.base_version);
    return;
  }
  actors::Rollout& actor = ActorOf(arrival, *envs);
  Version& version = base->second;
  std::ranges::copy(version.weights, actor.weights().begin());
  const actors::RolloutGradient gradient = actor.Run(version.entropy, gradient_);
  actor.TakeEpisodes();
  if (ahead_.UsesOf(arrival.base_version) == 0) versions_.erase(base);
  if (arrival.outcome != static_cast<std::uint8_t>(wire::Outcome::kNone)) return;
  held_[{arrival.slot, arrival.incarnation, arrival.sequence}] = {gradient_, gradient.samples};
}

void Replayer::Apply(const learner::UpdateRecord& record) {
  // 1. Take the gradients in the order of summation.
  std::vector<Gradient> gradients;
  std::uint64_t samples = 0;
  for (const auto& item : record.items) {
    auto held = held_.extract({item.slot, item.incarnation, item.sequence});
    if (held.empty()) {
      difference_ = fmt::format("version {} holds a gradient of actor {} that never arrived",
                                record.version, item.slot);
      return;
    }
    samples += gradients.emplace_back(std::move(held.mapped())).samples;
  }
  // 2. Compose the update as the learner did.
  learner::Update update;
  update.version = record.version;
  for (const Gradient& gradient : gradients) {
    update.gradients.push_back({.values = gradient.values,
                                .weight = static_cast<float>(static_cast<double>(gradient.samples) /
                                                             static_cast<double>(samples))});
  }
  update.lr = record.lr;
  update.scale = record.scale;
  update.optimizer_step = record.version;
  update.meta = Meta(record.version);
  const auto expected = ahead_.HashOf(record.version);
  update.hash = expected.has_value();
  // 3. Apply it, compare its hash, and keep its weights for later gradients.
  CHECK(lanes_.Submit(&update), "the lane took no update {}", record.version);
  applied_.acquire();
  version_ = record.version;
  if (expected) CompareHash(version_, *expected, update.WeightsHash());
  Keep(version_, record.entropy);
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
