#include "bench/push_ways.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/check.h"
#include "core/config/config_rules.h"
#include "learner/apply/applier.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/ring.h"
#include "learner/apply/schedule.h"

namespace starling::bench {
namespace {

// The values that the pipeline of a learner sets in each update, in the order of versions.
class Schedule {
 public:
  explicit Schedule(const Config& config) : config_(config) {}
  wire::SnapshotMeta MetaNow() const {
    return {.term = 1,
            .version = version_,
            .steps = steps_,
            .entropy = learner::EntropyCoef(config_.loss, config_.run.steps, steps_)};
  }
  // Makes `update` the next one, with this gradient alone.
  void Stamp(learner::Update& update, std::span<const float> gradient, std::uint32_t samples) {
    update.lr = learner::LearningRate(config_.optimizer, config_.run.steps, steps_, samples);
    steps_ += samples;
    update.version = update.optimizer_step = ++version_;
    update.gradients.assign(1, {.values = gradient, .weight = 1});
    update.meta = MetaNow();
  }

 private:
  const Config config_;
  std::uint64_t steps_ = 0, version_ = 0;
};

// An applier and the dispatcher thread that owns it.
class Dispatched : public PushWay {
 public:
  Dispatched(ApplyMode apply, const Config& config, std::span<const float> weights,
             std::size_t pushers)
      : PushWay(weights.size()),
        schedule_(config),
        boxes_(pushers),
        applier_(learner::MakeApplier(
            apply,
            {.threads =
                 static_cast<int>(std::min(UsableCores(), static_cast<std::int64_t>(pushers))),
             .optimizer = learner::MakeOptimizerSpec(config.optimizer),
             .size = weights.size()},
            weights, {}, snapshot_, schedule_.MetaNow(), [this] { parker_.Wake(); })),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}
  ~Dispatched() override {
    thread_.request_stop();
    parker_.Wake();
  }

  std::uint64_t Push(std::size_t who, std::span<const float> gradient,
                     std::uint32_t samples) override {
    Mailbox& box = boxes_[who];
    box.gradient = gradient;
    box.samples = samples;
    box.state.store(kFull, std::memory_order_release);  // partner: the acquire load in TakeOne
    parker_.Wake();
    // Partner: the release store in Acknowledge.
    for (State state; (state = box.state.load(std::memory_order_acquire)) != kEmpty;) {
      box.state.wait(state, std::memory_order_acquire);
    }
    return box.update.version;
  }

 private:
  enum State : std::uint32_t { kEmpty, kFull, kTaken };
  struct Mailbox {
    alignas(64) std::atomic<State> state{kEmpty};
    std::span<const float> gradient;
    std::uint32_t samples = 0;
    learner::Update update;
  };

  void Run(const std::stop_token& stop) {
    for (;;) {
      const std::uint32_t ticket = parker_.Ticket();
      const bool stopping = stop.stop_requested();
      const bool answered = Acknowledge();
      if (TakeOne() || answered) continue;
      if (stopping) return;
      parker_.Park(ticket);
    }
  }

  bool Acknowledge() {
    const std::uint64_t completed = applier_->Completed();
    bool any = false;
    for (; !under_way_.empty() && under_way_.front()->update.version <= completed; any = true) {
      Mailbox& box = *under_way_.front();
      under_way_.pop_front();
      box.state.store(kEmpty, std::memory_order_release);  // partner: the load in Push
      box.state.notify_one();
    }
    return any;
  }

  // Submits one waiting gradient, of the pushers in turn. Returns false if none waits or the
  // applier is full.
  bool TakeOne() {
    if (applier_->Submitted() - applier_->Completed() >= applier_->capacity()) return false;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      Mailbox& box = boxes_[(next_ + i) % boxes_.size()];
      if (box.state.load(std::memory_order_acquire) != kFull) continue;  // partner: Push
      next_ = (next_ + i + 1) % boxes_.size();
      schedule_.Stamp(box.update, box.gradient, box.samples);
      CHECK(applier_->Submit(&box.update), "no room for version {}", box.update.version);
      box.state.store(kTaken, std::memory_order_relaxed);  // read by this thread only
      under_way_.push_back(&box);
      return true;
    }
    return false;
  }

  Schedule schedule_;
  learner::Parker parker_;
  std::vector<Mailbox> boxes_;
  std::deque<Mailbox*> under_way_;  // used by the dispatcher, in the order of versions
  std::size_t next_ = 0;
  std::unique_ptr<learner::Applier> applier_;
  std::jthread thread_;  // last: it uses the members above
};

// The alternative to lanes: weights and optimizer state behind one mutex. Only for comparison.
class MutexApply : public PushWay {
 public:
  MutexApply(const Config& config, std::span<const float> weights)
      : PushWay(weights.size()),
        optimizer_(learner::MakeOptimizerSpec(config.optimizer)),
        schedule_(config),
        weights_(weights.begin(), weights.end()),
        state_(optimizer_.slots.size(), std::vector<float>(weights.size())) {
    snapshot_.Begin(0);
    snapshot_.Write(0, 0, weights_);
    snapshot_.Publish(schedule_.MetaNow());
  }

  // Works block by block, as the lanes do: each is still in the nearest cache for its publication.
  std::uint64_t Push(std::size_t, std::span<const float> gradient, std::uint32_t samples) override {
    const std::lock_guard lock(mutex_);
    schedule_.Stamp(update_, gradient, samples);
    const learner::StepSize step =
        learner::MakeStepSize(optimizer_, update_.lr, update_.scale, update_.optimizer_step);
    snapshot_.Begin(update_.version);
    for (std::size_t offset = 0; offset < weights_.size(); offset += learner::kApplyBlock) {
      const std::size_t n = std::min(learner::kApplyBlock, weights_.size() - offset);
      const std::span<float> weights = std::span(weights_).subspan(offset, n);
      std::array<std::span<float>, learner::kMaxSlots> state;
      for (std::size_t s = 0; s < state_.size(); ++s) {
        state.at(s) = std::span(state_[s]).subspan(offset, n);
      }
      learner::ApplyUpdate(optimizer_, step, gradient.subspan(offset, n), weights,
                           std::span(state).first(state_.size()));
      snapshot_.Write(update_.version, offset, weights);
    }
    snapshot_.Publish(update_.meta);
    return update_.version;
  }

 private:
  const learner::OptimizerSpec optimizer_;
  std::mutex mutex_;  // guards the members below and the writing of the snapshot
  Schedule schedule_;
  learner::Update update_;
  std::vector<float> weights_;
  std::vector<std::vector<float>> state_;
};

}  // namespace

std::unique_ptr<PushWay> MakePushWay(std::string_view way, const Config& config,
                                     std::span<const float> weights, std::size_t pushers) {
  const std::optional<ApplyMode> mode = FindWord<ApplyMode>(way);
  if (!mode) return std::make_unique<MutexApply>(config, weights);
  return std::make_unique<Dispatched>(*mode, config, weights, pushers);
}

}  // namespace starling::bench
