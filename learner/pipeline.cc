#include "learner/pipeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "learner/apply/schedule.h"

namespace starling::learner {

namespace {

JudgeRules RulesOf(const Config& config) {
  return {.bound = config.staleness.bound,
          .drop = config.staleness.on_exceed == OnExceed::kDrop,
          .gradients = static_cast<std::uint64_t>(config.updates.gradients),
          .in_flight = static_cast<std::uint64_t>(config.updates.in_flight),
          .uses = static_cast<std::uint64_t>(config.gradients_per_unroll()),
          .acts_first = config.reuses_data(),
          .delay = config.staleness.delay};
}

wire::SnapshotMeta MetaOf(const Config& config, std::uint32_t term, std::uint64_t version,
                          std::uint64_t steps) {
  return {.term = term,
          .version = version,
          .steps = steps,
          .entropy = EntropyCoef(config.loss, config.run.steps, steps)};
}

}  // namespace

Pipeline::Pipeline(const Config& config, TrainingState state, std::size_t trained,
                   wire::SnapshotWriter& snapshot, JournalWriter& journal, Counters& counters,
                   std::function<void()> on_progress)
    : config_(config),
      term_(state.term),
      journal_(journal),
      counters_(counters),
      judge_(RulesOf(config), state.version),
      steps_(state.steps),
      optimizer_step_(state.optimizer_step),
      taken_(state.version),
      return_reached_(ReturnReached()),
      checkpoint_s_(counters.seconds),
      lr_(LearningRate(config.optimizer, config.run.steps, state.steps,
                       static_cast<std::uint64_t>(config.samples_per_unroll()))),
      entropy_(EntropyCoef(config.loss, config.run.steps, state.steps)),
      applier_(MakeApplier(config.learner.apply,
                           {.threads = static_cast<int>(config.learner.threads),
                            .optimizer = MakeOptimizerSpec(config.optimizer, config.staleness),
                            .size = state.weights.size(),
                            .trained = trained},
                           state.weights, state.optimizer_state, snapshot,
                           MetaOf(config, state.term, state.version, state.steps),
                           std::move(on_progress))) {}

Arrival Pipeline::Hold(Received gradient) {
  const wire::Header& header = gradient.header;
  const Arrival verdict =
      judge_.Arrive(header.slot, gradient.body.grant, header.version, next_ticket_);
  if (verdict == Arrival::kHeld) held_.emplace(next_ticket_++, std::move(gradient));
  return verdict;
}

bool Pipeline::AdvanceOne() {
  if (over() || frozen_ || !MayLaunch()) return false;
  const auto decided = judge_.NextUpdate();
  if (decided) Launch(*decided);
  return decided.has_value();
}

bool Pipeline::MayLaunch() const {
  if (in_flight_.size() >= applier_->capacity()) return false;
  return applier_->in_order() || std::ranges::all_of(in_flight_, [&](const auto& pending) {
           return MayOvertake(config_.staleness.bound, judge_.version() + 1, pending->oldest_base);
         });
}

bool Pipeline::ReturnReached() const {
  return config_.run.until_return != kNever &&
         GoalOf(config_).ReturnReached(counters_.episodes, counters_.mean_return());
}

void Pipeline::Launch(const Judge::Update& decided) {
  auto pending = std::make_unique<InFlightUpdate>();
  UpdateRecord record{.version = decided.version};
  const bool merged = decided.gradients.size() > 1;

  // 1. Take the held gradients, in the order of their sum, and count their staleness and episodes.
  std::vector<Contribution> contributions;
  std::uint64_t samples = 0, steps = 0;
  pending->oldest_base = decided.version;
  for (const HeldGradient& held : decided.gradients) {
    const Received& gradient =
        pending->gradients.emplace_back(std::move(held_.extract(held.ticket).mapped()));
    const auto& [slot, incarnation, sequence] =
        std::tie(gradient.header.slot, gradient.header.incarnation, gradient.header.sequence);
    const std::uint64_t base = gradient.header.version, staleness = decided.version - 1 - base;
    pending->oldest_base = std::min(pending->oldest_base, base);
    pending->applied.push_back(
        {.slot = slot,
         .incarnation = incarnation,
         .sequence = sequence,
         .outcome = merged ? wire::Outcome::kMerged : wire::Outcome::kApplied,
         .staleness = staleness});
    contributions.push_back({.samples = gradient.body.samples, .staleness = staleness});
    record.items.push_back({slot, incarnation, sequence});
    samples += gradient.body.samples;
    steps += gradient.steps;
    counters_.staleness.Add(staleness);
    counters_.AddEpisodes(gradient.body);
    if (config_.reuses_data()) counters_.data_age.Add(decided.version - 1 - gradient.body.played);
  }
  ++counters_.updates;
  counters_.applied += decided.gradients.size();
  if (merged) counters_.merged += decided.gradients.size();

  // 2. Read the learning rate's schedule at the steps applied before this update.
  lr_ = LearningRate(config_.optimizer, config_.run.steps, steps_, steps) *
        LrScale(config_.optimizer, samples);
  const std::uint64_t before = std::exchange(steps_, steps_ + steps);
  return_reached_ = ReturnReached();

  // 3. Describe the update: the mean of its gradients, weighted by their samples.
  Update& update = pending->update;
  update.version = decided.version;
  const std::uint32_t first_samples = pending->gradients[0].body.samples;
  CHECK(summed_.size() <= pending->gradients.size(), "version {}: {} were summed of {}",
        decided.version, summed_.size(), pending->gradients.size());
  for (std::size_t i = 0; i < pending->gradients.size(); ++i) {
    if (i < summed_.size()) {
      CHECK(decided.gradients[i].ticket == summed_[i], "version {}: gradient {} is not summed",
            decided.version, i);
      continue;
    }
    const Received& gradient = pending->gradients[i];
    update.gradients.push_back({.values = gradient.tensor.values,
                                .weight = RelativeWeight(gradient.body.samples, first_samples),
                                .sums = gradient.steps > 0,
                                .staleness = pending->applied[i].staleness});
  }
  if (mean_) update.gradients = {{.values = mean_(pending->gradients)}};
  update.weight_before = std::exchange(summed_weight_, 0);
  summed_.clear();
  pending->part = std::move(part_);
  update.lr = lr_;
  update.scale = DampingScale(config_.staleness, contributions);
  update.samples = samples;
  update.optimizer_step = ++optimizer_step_;
  update.meta = MetaOf(config_, term_, decided.version, steps_);
  entropy_ = update.meta.entropy;
  due_ |= CheckpointDue(before, steps_);
  const bool checkpoint = due_ && !over() && (!cuts_ || give_up_ || decided.cut);
  update.hash = applier_->in_order() &&
                (checkpoint || over() ||
                 decided.version % static_cast<std::uint64_t>(config_.learner.hash_every) == 0);
  if (checkpoint) {
    update.capture = std::make_shared<StateCopy>(std::exchange(spare_, {}));
    pending->counters = counters_.Save();
    pending->cut = cuts_ && decided.cut;
  }

  // 4. Journal the decision before any thread can act on it.
  record.steps = steps_;
  record.lr = update.lr;
  record.scale = update.scale;
  record.entropy = update.meta.entropy;
  pending->steps = steps_;
  WriteDown(record, *pending);

  // 5. Hand it to the other processes, then to the applier.
  if (broadcast_) broadcast_(record, update, checkpoint);
  CHECK(applier_->Submit(&update), "the applier took no update {}", decided.version);
  in_flight_.push_back(std::move(pending));

  // 6. Withhold grants until the cut, or end that.
  if (checkpoint) {
    due_ = give_up_ = false;
    if (!ending_) judge_.Release();
  } else if (due_ && cuts_ && !give_up_) {
    judge_.Withhold();
  }
}

// Behind a gap the journal goes on with a cut.
void Pipeline::WriteDown(const UpdateRecord& record, InFlightUpdate& pending) {
  const bool goes_on = pending.cut && journal_.broken() &&
                       journal_.GoOn({term_, record.version, record.steps}, record.entropy);
  if (!goes_on) journal_.Append(record);
  pending.journal = journal_.position();
  pending.journal_whole = !journal_.broken();
  pending.journal_gaps = journal_.gaps();
}

void Pipeline::AddAhead() {
  // 1. Free the memory of the gradients that were added.
  if (part_ && !part_->update.Summed()) return;
  if (part_) {
    for (const std::uint64_t ticket : part_->tickets) {
      held_.at(ticket).tensor = {};
    }
    part_.reset();
  }
  if (!idle()) return;  // at most one part is on its way
  // 2. Add the gradients that have become certain.
  const std::vector<HeldGradient> certain = CertainNext(judge_.rules(), judge_.state());
  if (over() || certain.size() <= summed_.size()) return;
  part_ = std::make_unique<Part>();
  Update& update = part_->update;
  update.version = judge_.version() + 1;
  update.weight_before = summed_weight_;
  const std::uint32_t first_samples = held_.at(certain[0].ticket).body.samples;
  for (std::size_t i = summed_.size(); i < certain.size(); ++i) {
    const Received& gradient = held_.at(certain[i].ticket);
    const float weight = RelativeWeight(gradient.body.samples, first_samples);
    update.gradients.push_back(
        {.values = gradient.tensor.values, .weight = weight, .sums = gradient.steps > 0});
    summed_weight_ += weight;
    part_->tickets.push_back(certain[i].ticket);
    summed_.push_back(certain[i].ticket);
  }
  applier_->SumAhead(&update);
}

void Pipeline::GiveUpCut() {
  give_up_ = due_;
  judge_.Release();
}

void Pipeline::StopGranting() {
  ending_ = true;
  judge_.Withhold();
}

bool Pipeline::CheckpointDue(std::uint64_t before, std::uint64_t after) {
  const auto every = static_cast<std::uint64_t>(config_.checkpoint.every_steps);
  const double every_s = config_.checkpoint.every_s;
  const bool late = every_s > 0 && counters_.seconds - checkpoint_s_ >= every_s;
  if (over() || (before / every == after / every && !late)) return false;  // the last one follows
  checkpoint_s_ = counters_.seconds;
  return true;
}

std::optional<Pipeline::Finished> Pipeline::TakeFinished() {
  if (in_flight_.empty() ||
      in_flight_.front()->update.version > std::min(applier_->Completed(), elsewhere_)) {
    return std::nullopt;
  }
  // 1. Take the oldest update; its gradients are released when `pending` goes out of scope.
  const std::unique_ptr<InFlightUpdate> pending = std::move(in_flight_.front());
  in_flight_.pop_front();
  Update& update = pending->update;
  taken_ = update.version;
  // 2. Its results: the hash into the journal, outcomes and a checkpoint to the caller.
  if (update.hash) journal_.Append(HashRecord{update.version, update.WeightsHash()});
  Finished finished{.version = update.version,
                    .applied = std::move(pending->applied),
                    .hash = update.hash ? std::optional(update.WeightsHash()) : std::nullopt,
                    .checkpoint = std::nullopt,
                    .cut = pending->cut};
  if (update.capture) {
    finished.checkpoint = {.state = {.term = term_,
                                     .version = update.version,
                                     .steps = pending->steps,
                                     .optimizer_step = update.optimizer_step,
                                     .weights = std::move(update.capture->weights),
                                     .optimizer_state = std::move(update.capture->state)},
                           .counters = std::move(pending->counters),
                           .journal = pending->journal,
                           .journal_sync = journal_.TakeSync()};
    finished.checkpoint->journal_whole =
        pending->journal_whole && pending->journal_gaps == journal_.gaps();
  }
  return finished;
}

TrainingState Pipeline::CaptureNow() {
  CHECK(in_flight_.empty() && applier_->Idle(), "captured with {} updates in flight",
        in_flight_.size());
  StateCopy now = applier_->CaptureInto(std::exchange(spare_, {}));
  return {.term = term_,
          .version = applier_->Completed(),
          .steps = steps_,
          .optimizer_step = optimizer_step_,
          .weights = std::move(now.weights),
          .optimizer_state = std::move(now.state)};
}

}  // namespace starling::learner
