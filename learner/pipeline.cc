#include "learner/pipeline.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "learner/apply/schedule.h"

namespace starling::learner {

namespace {

JudgeRules RulesOf(const Config& config) {
  return {.bound = config.staleness.bound,
          .drop = config.staleness.on_exceed == OnExceed::kDrop,
          .gradients = static_cast<std::uint64_t>(config.updates.gradients),
          .in_flight = static_cast<std::uint64_t>(config.updates.in_flight)};
}

wire::SnapshotMeta MetaOf(const Config& config, std::uint32_t term, std::uint64_t version,
                          std::uint64_t steps) {
  return {.term = term,
          .version = version,
          .steps = steps,
          .entropy = EntropyCoef(config.loss, config.run.steps, steps)};
}

}  // namespace

Pipeline::Pipeline(const Config& config, Standing standing, wire::SnapshotWriter& snapshot,
                   JournalWriter& journal, Counters& counters, std::function<void()> on_progress)
    : config_(config),
      term_(standing.term),
      journal_(journal),
      counters_(counters),
      judge_(RulesOf(config), standing.version),
      steps_(standing.steps),
      optimizer_step_(standing.optimizer_step),
      taken_(standing.version),
      lr_(LearningRate(config.optimizer, config.run.steps, standing.steps,
                       static_cast<std::uint64_t>(config.samples_per_gradient()))),
      entropy_(EntropyCoef(config.loss, config.run.steps, standing.steps)),
      applier_(MakeApplier(config.learner.apply,
                           {.threads = static_cast<int>(config.learner.threads),
                            .optimizer = MakeOptimizerSpec(config.optimizer),
                            .size = standing.weights.size()},
                           standing.weights, standing.state, snapshot,
                           MetaOf(config, standing.term, standing.version, standing.steps),
                           std::move(on_progress))) {}

Arrival Pipeline::Hold(std::uint64_t number, Received gradient) {
  const Arrival verdict = judge_.Arrive(gradient.slot, number, gradient.base, next_ticket_);
  if (verdict == Arrival::kHeld) held_.emplace(next_ticket_++, std::move(gradient));
  return verdict;
}

bool Pipeline::AdvanceOne() {
  if (over() || !MayLaunch()) return false;
  const auto decided = judge_.Next();
  if (decided) Launch(*decided);
  return decided.has_value();
}

bool Pipeline::MayLaunch() const {
  if (flights_.size() >= applier_->capacity()) return false;
  return applier_->in_order() || std::ranges::all_of(flights_, [&](const auto& flight) {
           return MayOvertake(config_.staleness.bound, judge_.version() + 1, flight->oldest_base);
         });
}

void Pipeline::Launch(const Judge::Update& decided) {
  auto flight = std::make_unique<Flight>();
  std::vector<Contribution> contributions;
  std::uint64_t samples = 0;
  UpdateRecord record{.version = decided.version};
  flight->oldest_base = decided.version;
  for (const HeldGradient& held : decided.gradients) {
    Received& gradient =
        flight->gradients.emplace_back(std::move(held_.extract(held.ticket).mapped()));
    const std::uint64_t staleness = decided.version - 1 - gradient.base;
    flight->oldest_base = std::min(flight->oldest_base, gradient.base);
    contributions.push_back({.samples = gradient.samples, .staleness = staleness});
    samples += gradient.samples;
    flight->applied.push_back(
        {.slot = gradient.slot,
         .incarnation = gradient.incarnation,
         .sequence = gradient.sequence,
         .outcome = decided.gradients.size() > 1 ? wire::Outcome::kMerged : wire::Outcome::kApplied,
         .staleness = staleness});
    record.items.push_back({gradient.slot, gradient.incarnation, gradient.sequence});
    counters_.staleness.Add(staleness);
  }
  ++counters_.updates;
  counters_.applied += decided.gradients.size();
  if (decided.gradients.size() > 1) counters_.merged += decided.gradients.size();

  // The schedules are read at the samples applied before this update, as its gradients' actors did.
  lr_ = LearningRate(config_.optimizer, config_.run.steps, steps_, samples) *
        LinearScale(config_.optimizer, samples,
                    static_cast<std::uint64_t>(config_.samples_per_gradient()));
  const std::uint64_t before = std::exchange(steps_, steps_ + samples);

  Update& update = flight->update;
  update.version = decided.version;
  for (const Received& gradient : flight->gradients) {
    update.gradients.push_back({.values = gradient.values,
                                .weight = static_cast<float>(static_cast<double>(gradient.samples) /
                                                             static_cast<double>(samples))});
  }
  update.lr = lr_;
  update.scale = DampingScale(config_.staleness, contributions);
  update.optimizer_step = ++optimizer_step_;
  update.meta = MetaOf(config_, term_, decided.version, steps_);
  entropy_ = update.meta.entropy;
  const bool checkpoint = CheckpointDue(before, steps_);
  update.hash = applier_->in_order() &&
                (checkpoint || over() ||
                 decided.version % static_cast<std::uint64_t>(config_.learner.hash_every) == 0);
  if (checkpoint) {
    update.capture = std::make_shared<Capture>();
    flight->counters = counters_.Save();
  }

  record.steps = steps_;
  record.lr = update.lr;
  record.scale = update.scale;
  record.entropy = update.meta.entropy;
  journal_.Append(record);
  flight->steps = steps_;
  flight->journal_offset = journal_.offset();

  if (tell_) tell_(record, update, checkpoint);
  CHECK(applier_->Submit(&update), "the applier took no update {}", decided.version);
  flights_.push_back(std::move(flight));
}

bool Pipeline::CheckpointDue(std::uint64_t before, std::uint64_t after) const {
  const auto every = static_cast<std::uint64_t>(config_.checkpoint.every_steps);
  return before / every != after / every && !over();  // the last one is written when all is settled
}

std::optional<Pipeline::Finished> Pipeline::TakeFinished() {
  if (flights_.empty() ||
      flights_.front()->update.version > std::min(applier_->Completed(), elsewhere_)) {
    return std::nullopt;
  }
  const std::unique_ptr<Flight> flight = std::move(flights_.front());
  flights_.pop_front();
  Update& update = flight->update;
  taken_ = update.version;
  if (update.hash) journal_.Append(HashRecord{update.version, update.WeightsHash()});
  Finished finished{
      .version = update.version, .applied = std::move(flight->applied), .checkpoint = std::nullopt};
  if (update.capture) {
    finished.checkpoint = {.standing = {.term = term_,
                                        .version = update.version,
                                        .steps = flight->steps,
                                        .optimizer_step = update.optimizer_step,
                                        .weights = std::move(update.capture->weights),
                                        .state = std::move(update.capture->state)},
                           .counters = std::move(flight->counters),
                           .journal_offset = flight->journal_offset};
  }
  return finished;
}

Standing Pipeline::Settle() {
  CHECK(flights_.empty() && applier_->Idle(), "settled with {} updates under way", flights_.size());
  Capture now = applier_->CaptureNow();
  return {.term = term_,
          .version = applier_->Completed(),
          .steps = steps_,
          .optimizer_step = optimizer_step_,
          .weights = std::move(now.weights),
          .state = std::move(now.state)};
}

}  // namespace starling::learner
