#include "tools/simulate/virtual_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "learner/storage/checkpoint.h"

namespace starling::simulate {

VirtualLearner::VirtualLearner(const Config& config, learner::InitialNet net,
                               const std::filesystem::path& run_dir)
    : VirtualLearner(config, net, run_dir, learner::FindStart(config, net, run_dir, false)) {}

VirtualLearner::VirtualLearner(const Config& config, learner::InitialNet net,
                               const std::filesystem::path& run_dir, learner::Start start)
    : config_(config),
      layout_(std::move(net.layout)),
      spaces_(std::move(net.spaces)),
      run_dir_(run_dir),
      metrics_(run_dir / "metrics.jsonl"),
      tensorboard_(config.run.tensorboard, run_dir, 0),
      snapshot_({}, layout_.size(), layout_.fingerprint(), start.state.term),
      reader_(snapshot_),
      engine_(config_, start, snapshot_,
              {.run_dir = run_dir,
               .fingerprint = layout_.fingerprint(),
               .slice = {.begin = 0, .size = layout_.size()},
               .trained = layout_.trained(),
               .on_progress = [this] { applied_.release(); }}) {
  first_weights_ = std::make_shared<Weights>(Weights{
      .version = 0, .entropy = engine_.pipeline().entropy(), .values = Floats(layout_.size())});
  std::ranges::copy(start.state.weights, first_weights_->values.span().begin());
  SaveCheckpoint(engine_.ContentOf(std::move(start.state)));
}

void VirtualLearner::JoinAll() {
  for (std::uint32_t slot = 0; slot < config_.actors.count; ++slot) {
    incarnation_ = engine_.Join(slot).incarnation;
    if (slot + 1 == config_.updates.start_with) engine_.Open();
  }
}

void VirtualLearner::Receive(Pushed pushed) {
  Computed computed = pushed.computed.get();
  computed.message.grant = pushed.grant;
  const auto [outcome, sender] =
      engine_.Receive({.header = {.slot = pushed.slot,
                                  .incarnation = incarnation_,
                                  .sequence = pushed.sequence,
                                  .term = engine_.term(),
                                  .session = engine_.session(),
                                  .version = pushed.base,
                                  .fingerprint = engine_.fingerprint()},
                       .body = std::move(computed.message),
                       .tensor = {.values = computed.values.span(), .hold = computed.values.data}});
  CHECK(outcome != wire::Outcome::kBelowGrant && outcome != wire::Outcome::kFutureVersion,
        "a simulated actor computed on weights that it cannot have had");
}

std::optional<VirtualLearner::Decided> VirtualLearner::Decide() {
  const std::uint64_t applied = counters().applied;
  if (!engine_.AdvanceOne()) return std::nullopt;
  applied_.acquire();  // the applier has finished it
  const Floats values(layout_.size());
  wire::SnapshotMeta meta;
  const std::uint64_t version = judge().version();
  CHECK(reader_.Read(version, values.span(), meta) && meta.version == version, "version {}",
        version);
  return Decided{version, static_cast<std::size_t>(counters().applied - applied),
                 std::make_shared<Weights>(version, meta.entropy, values)};
}

// The first grant was sent at 0, so `now_ns` is the time of training.
void VirtualLearner::Publish(std::int64_t now_ns) {
  const std::uint64_t next = published() + 1;
  auto finished = engine_.TakeFinished(static_cast<double>(now_ns) / 1e9);
  CHECK(finished && finished->version == next, "version {} cannot be published", next);
  if (finished->checkpoint) SaveCheckpoint(*std::move(finished->checkpoint));
}

std::vector<learner::Grant> VirtualLearner::TakeGrants(std::int64_t now_ns) {
  std::vector<learner::Grant> grants;
  for (const auto& [slot, answer] : engine_.TakeReplies(now_ns)) {
    for (const wire::Grant& grant : answer.grants) {
      grants.push_back({.slot = slot, .number = grant.number, .version = grant.version});
    }
  }
  return grants;
}

// ---- files

bool VirtualLearner::End() {
  SaveCheckpoint(engine_.CaptureNow());
  WriteMetrics();
  try {
    engine_.journal().TakeSync().Run();
  } catch (const std::system_error& error) {
    AddError(error.what());
  }
  const std::string& error = engine_.journal().error();
  if (!error.empty()) AddError("the journal is not complete: " + error);
  return saved_;
}

void VirtualLearner::AddError(const std::string& sentence) {
  if (std::ranges::count(errors_, sentence) == 0) errors_.push_back(sentence);
}

std::vector<std::string> VirtualLearner::TakeErrors() {
  const auto taken = static_cast<std::ptrdiff_t>(std::exchange(errors_taken_, errors_.size()));
  return {errors_.begin() + taken, errors_.end()};
}

// At once and not in a thread, so that the checkpoints do not depend on the speed of the disk.
void VirtualLearner::SaveCheckpoint(learner::CheckpointContent content) {
  const learner::JournalSync journal = std::move(content.journal_sync);
  const learner::Checkpoint checkpoint =
      learner::CheckpointOf(config_, layout_, spaces_, std::move(content));
  try {
    journal.Run();
    const auto path = learner::WriteCheckpoint(run_dir_ / "checkpoints", checkpoint);
    learner::Prune(run_dir_ / "checkpoints", static_cast<std::size_t>(config_.checkpoint.keep));
    last_checkpoint_ = "checkpoints/" + path.filename().string();
    saved_ = true;
  } catch (const std::system_error& error) {
    AddError(fmt::format("no checkpoint of version {}: {}", checkpoint.version, error.what()));
    saved_ = false;
  }
}

void VirtualLearner::WriteMetrics() {
  const learner::RunStatus status = Status();
  if (!metrics_.Write(learner::MetricsLine(status))) {
    AddError("metrics.jsonl: a line could not be written");
  }
  tensorboard_.Show(status);
}

learner::RunStatus VirtualLearner::Status() const {
  learner::RunStatus status = engine_.Status();
  status.phase = "running";
  status.version = published();
  status.time = time_;
  status.checkpoint = last_checkpoint_;
  return status;
}

}  // namespace starling::simulate
