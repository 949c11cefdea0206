#include "tools/simulate/virtual_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "learner/storage/checkpoint.h"
#include "learner/training_status.h"
#include "net/norm.h"

namespace starling::simulate {
namespace {

using Json = nlohmann::ordered_json;

wire::Outcome OutcomeOf(learner::Arrival arrival) {
  switch (arrival) {
    case learner::Arrival::kHeld:
      return wire::Outcome::kNone;
    case learner::Arrival::kNoGrant:
      return wire::Outcome::kNoGrant;
    case learner::Arrival::kStale:
      return wire::Outcome::kStale;
    case learner::Arrival::kBelowGrant:
    case learner::Arrival::kFutureVersion:
      break;
  }
  CHECK(false, "a simulated actor computed on weights that it cannot have had");
  return wire::Outcome::kNone;
}

}  // namespace

VirtualLearner::VirtualLearner(const Config& config, learner::NetBlueprint net,
                               const std::filesystem::path& run_dir)
    : VirtualLearner(config, net, run_dir, learner::FindStart(config, net, run_dir, false)) {}

VirtualLearner::VirtualLearner(const Config& config, learner::NetBlueprint net,
                               const std::filesystem::path& run_dir, learner::Start start)
    : config_(config),
      layout_(std::move(net.layout)),
      run_dir_(run_dir),
      term_(start.state.term),
      roster_(term_),
      journal_(run_dir / "journal",
               {.seed = config.run.seed, .fingerprint = layout_.fingerprint()}),
      metrics_(run_dir / "metrics.jsonl"),
      board_(config.run.tensorboard, run_dir, 0),
      snapshot_({}, layout_.size(), layout_.fingerprint(), term_),
      reader_(snapshot_),
      pipeline_(config_, start.state, snapshot_, journal_, counters_,
                [this] { applied_.release(); }) {
  first_weights_ = std::make_shared<Weights>(
      Weights{.version = 0, .entropy = pipeline_.entropy(), .values = start.state.weights});
  journal_.Append(learner::TermRecord{term_, 0, 0});
  journal_.Append(learner::EntropyRecord{pipeline_.entropy()});
  journal_.Append(learner::HashRecord{0, learner::HashWeights(start.state.weights)});
  SaveCheckpoint({std::move(start.state), counters_.Save(), journal_.offset()});
}

void VirtualLearner::JoinAll() {
  learner::Judge& judge = pipeline_.judge();
  for (std::uint32_t slot = 0; slot < config_.actors.count; ++slot) {
    incarnation_ = roster_.Join(slot, "", 0).incarnation;
    journal_.Append(learner::JoinRecord{slot, incarnation_});
    judge.Join(slot);
    if (slot + 1 == config_.updates.start_with) judge.Open();
  }
}

// ---- receive, check, judge

void VirtualLearner::Receive(Pushed pushed) {
  Computed computed = pushed.computed.get();
  ++counters_.received;
  const double norm = computed.norm;
  const std::uint32_t samples = computed.samples;
  wire::Outcome outcome = Check(computed);
  if (outcome == wire::Outcome::kNone) {
    for (const envs::EpisodeEnd& end : computed.episodes.ended) {
      counters_.AddEpisode(
          {.episode_return = end.episode_return, .length = static_cast<std::uint64_t>(end.length)});
    }
    outcome = Spend(pushed, std::move(computed));
  } else {
    pipeline_.judge().RevokeGrant(pushed.slot, pushed.grant);
  }
  journal_.Append(learner::ArrivalRecord{.slot = pushed.slot,
                                         .incarnation = incarnation_,
                                         .sequence = pushed.sequence,
                                         .grant = pushed.grant,
                                         .base_version = pushed.base,
                                         .samples = samples,
                                         .outcome = static_cast<std::uint8_t>(outcome),
                                         .norm = norm});
  if (outcome == wire::Outcome::kNone) return;  // held
  counters_.AddDropped(outcome);
  pipeline_.judge().GrantOrQueue(pushed.slot);
}

wire::Outcome VirtualLearner::Check(const Computed& computed) const {
  const net::FiniteNorm norm = net::CheckFinite(computed.values);
  if (!norm.finite) return wire::Outcome::kNotFinite;
  if (norm.norm > config_.updates.max_norm) return wire::Outcome::kNormTooLarge;
  return wire::Outcome::kNone;
}

wire::Outcome VirtualLearner::Spend(const Pushed& pushed, Computed computed) {
  const auto values = std::make_shared<const std::vector<float>>(std::move(computed.values));
  const std::uint32_t samples = computed.samples;
  newest_ = std::move(computed);
  return OutcomeOf(pipeline_.Hold(pushed.grant, {.values = *values,
                                                 .loan = {.values = *values, .hold = values},
                                                 .slot = pushed.slot,
                                                 .incarnation = incarnation_,
                                                 .sequence = pushed.sequence,
                                                 .base = pushed.base,
                                                 .samples = samples}));
}

// ---- apply, publish

std::optional<VirtualLearner::Decided> VirtualLearner::Decide() {
  const std::uint64_t applied = counters_.applied;
  if (!pipeline_.AdvanceOne()) return std::nullopt;
  applied_.acquire();  // the lanes have told that they are done with it
  auto weights = std::make_shared<Weights>();
  weights->values.resize(layout_.size());
  wire::SnapshotMeta meta;
  const std::uint64_t version = pipeline_.judge().version();
  CHECK(reader_.Read(version, weights->values, meta) && meta.version == version, "version {}",
        version);
  weights->version = version;
  weights->entropy = meta.entropy;
  return Decided{version, static_cast<std::size_t>(counters_.applied - applied),
                 std::move(weights)};
}

void VirtualLearner::Publish(std::int64_t now_ns) {
  auto finished = pipeline_.TakeFinished();
  CHECK(finished && finished->version == published_ + 1, "nothing to publish after {}", published_);
  published_ = finished->version;
  counters_.seconds = static_cast<double>(now_ns) / 1e9;  // the first grant was sent at 0
  if (finished->checkpoint) SaveCheckpoint(*std::move(finished->checkpoint));
}

std::vector<learner::Grant> VirtualLearner::TakeGrants() {
  for (const learner::Grant& grant : pipeline_.judge().TakeGrants()) unsent_.push_back(grant);
  std::vector<learner::Grant> now;
  std::erase_if(unsent_, [&](const learner::Grant& grant) {
    if (grant.version > published_) return false;
    now.push_back(grant);
    journal_.Append(learner::GrantRecord{grant.slot, grant.number, grant.version});
    return true;
  });
  return now;
}

void VirtualLearner::Expire(const learner::Grant& grant) {
  if (!pipeline_.judge().RevokeGrant(grant.slot, grant.number)) return;
  journal_.Append(learner::LostRecord{grant.slot, grant.number, learner::LostWhy::kDeadline});
  ++counters_.deadlines;
}

// ---- what stays

bool VirtualLearner::End() {
  SaveCheckpoint({pipeline_.Settle(), counters_.Save(), journal_.offset()});
  WriteMetrics();
  journal_.Sync();
  if (!journal_.trouble().empty()) {
    Trouble("the journal is not complete: " + journal_.trouble());
  }
  return saved_;
}

void VirtualLearner::Trouble(const std::string& sentence) {
  if (std::ranges::count(troubles_, sentence) == 0) troubles_.push_back(sentence);
}

std::vector<std::string> VirtualLearner::TakeTroubles() {
  const auto told = static_cast<std::ptrdiff_t>(std::exchange(troubles_told_, troubles_.size()));
  return {troubles_.begin() + told, troubles_.end()};
}

// At once, not in a thread of its own: which checkpoints there are must not depend on the disk.
void VirtualLearner::SaveCheckpoint(learner::Pipeline::Finished::Checkpoint from) {
  const learner::Checkpoint checkpoint = learner::CheckpointOf(
      config_, layout_, std::move(from.state), std::move(from.counters), from.journal_offset);
  journal_.Flush();
  try {
    const auto path = learner::WriteCheckpoint(run_dir_ / "checkpoints", checkpoint);
    learner::Prune(run_dir_ / "checkpoints", static_cast<std::size_t>(config_.checkpoint.keep));
    last_checkpoint_ = "checkpoints/" + path.filename().string();
    saved_ = true;
  } catch (const std::system_error& error) {
    Trouble(fmt::format("no checkpoint of version {}: {}", checkpoint.version, error.what()));
    saved_ = false;
  }
}

void VirtualLearner::WriteMetrics() {
  Json line = Status();
  line["staleness"].erase("histogram");
  if (!metrics_.Write(line)) Trouble("metrics.jsonl: a line could not be written");
  board_.Show(line);
}

Json VirtualLearner::Status() const {
  Json status = learner::TrainingStatus("running", term_, config_, pipeline_, counters_,
                                        {.policy = newest_.loss.policy_loss,
                                         .value = newest_.loss.value_loss,
                                         .entropy = newest_.loss.entropy,
                                         .grad_norm = newest_.norm});
  const learner::TimeStatus::Actors& actors = time_.actors;
  const learner::TimeStatus::Learner& learner = time_.learner;
  status["actors_alive"] = roster_.size();
  status["time"] = {
      {"actors", {{"wait", actors.wait}, {"refresh", actors.refresh}, {"act", actors.act}}},
      {"learner",
       {{"receive", learner.receive}, {"idle", learner.idle}, {"lanes", learner.lanes}}}};
  status["staleness"]["histogram"] = counters_.staleness.counts();
  status["checkpoint"] = last_checkpoint_;
  return status;
}

}  // namespace starling::simulate
