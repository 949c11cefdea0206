#include "bench/push_ways.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "bench/mutex_apply.h"
#include "core/check.h"
#include "core/config/config_rules.h"
#include "learner/apply/applier.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/ring.h"
#include "learner/apply/schedule.h"

namespace starling::bench {
namespace {

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
            weights, {}, snapshot_, schedule_.Initial(), [this] { parker_.Wake(); })),
        thread_([this] { Run(); }) {}
  ~Dispatched() override {
    stop_.store(true, std::memory_order_release);  // partner: the load in Run
    parker_.Wake();
    thread_.join();
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

  void Run() {
    for (;;) {
      const std::uint32_t ticket = parker_.Ticket();
      const bool stop = stop_.load(std::memory_order_acquire);
      const bool answered = Acknowledge();
      if (TakeOne() || answered) continue;
      if (stop) return;
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
  std::atomic<bool> stop_{false};
  std::vector<Mailbox> boxes_;
  std::deque<Mailbox*> under_way_;  // used by the dispatcher, in the order of versions
  std::size_t next_ = 0;
  std::unique_ptr<learner::Applier> applier_;
  std::thread thread_;
};

}  // namespace

wire::SnapshotMeta Schedule::MetaNow() const {
  return {.term = 1,
          .version = version_,
          .steps = steps_,
          .entropy = learner::EntropyCoef(config_.loss, config_.run.steps, steps_)};
}

void Schedule::Stamp(learner::Update& update, std::span<const float> gradient,
                     std::uint32_t samples) {
  update.lr = learner::LearningRate(config_.optimizer, config_.run.steps, steps_, samples);
  steps_ += samples;
  update.version = update.optimizer_step = ++version_;
  update.gradients.assign(1, {.values = gradient, .weight = 1});
  update.meta = MetaNow();
}

std::unique_ptr<PushWay> MakePushWay(std::string_view way, const Config& config,
                                     std::span<const float> weights, std::size_t pushers) {
  const std::optional<ApplyMode> mode = FindWord<ApplyMode>(way);
  if (!mode) return std::make_unique<MutexApply>(config, weights);
  return std::make_unique<Dispatched>(*mode, config, weights, pushers);
}

}  // namespace starling::bench
