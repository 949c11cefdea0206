#include "tools/simulate/workers.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "actors/gradient_message.h"
#include "actors/rollout.h"
#include "core/check.h"
#include "core/denormals.h"

namespace starling::simulate {
namespace {

Computed RunOnce(actors::Rollout& actor, const Weights& weights) {
  Computed computed;
  computed.values.resize(weights.values.size());
  std::ranges::copy(weights.values, actor.weights().begin());
  const actors::RolloutGradient gradient = actor.Run(weights.entropy, computed.values);
  computed.message = actors::GradientMessage(gradient, actor.TakeEpisodes());
  return computed;
}

}  // namespace

Workers::Workers(const Config& config, std::uint32_t incarnation, int threads)
    : config_(config), incarnation_(incarnation) {
  CHECK(threads >= 1);
  const auto jobs = static_cast<std::size_t>(config.actors.count * config.updates.in_flight);
  for (int i = 0; i < threads; ++i) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>(jobs));
    worker.thread = std::thread([this, &worker] { Run(worker); });
  }
}

Workers::~Workers() {
  for (const auto& worker : workers_) {
    worker->stop.store(true, std::memory_order_relaxed);  // only to end sooner
    worker->queue.Close();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

std::future<Computed> Workers::Compute(std::uint32_t slot, std::shared_ptr<const Weights> weights) {
  Job job{.slot = slot, .weights = std::move(weights), .result = {}};
  std::future<Computed> result = job.result.get_future();
  Worker& worker = *workers_[slot % workers_.size()];
  CHECK(worker.queue.TryPush(std::move(job)), "more unrolls than grants: slot {}", slot);
  return result;
}

void Workers::Run(Worker& worker) const {
  FlushDenormals();
  std::map<std::uint32_t, std::unique_ptr<actors::Rollout>> actors;  // of this thread, by slot
  while (auto job = worker.queue.Pop()) {
    if (worker.stop.load(std::memory_order_relaxed)) return;
    try {
      auto& actor = actors[job->slot];
      if (!actor) actor = std::make_unique<actors::Rollout>(config_, job->slot, incarnation_);
      job->result.set_value(RunOnce(*actor, *job->weights));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
  }
}

}  // namespace starling::simulate
