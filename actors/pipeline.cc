#include "actors/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/clock.h"
#include "core/error.h"

namespace starling::actors {
namespace {

constexpr std::size_t kRing = 1024;  // jobs; with more under way, Submit waits

// Waits until `counter` is at least `value`.
void WaitFor(const std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  for (std::uint64_t now; (now = counter.load(std::memory_order_acquire)) < value;) {
    counter.wait(now, std::memory_order_acquire);
  }
}

}  // namespace

Pipeline::Pipeline(int stages, std::function<void(int stage)> at_end, bool threaded)
    : at_end_(std::move(at_end)), threaded_(threaded), ring_(kRing) {
  CHECK(stages >= 1, "{} stages", stages);
  for (int stage = 0; stage < stages; ++stage) stages_.push_back(std::make_unique<Stage>());
  try {
    for (int stage = 1; threaded && stage < stages; ++stage) {
      stages_[static_cast<std::size_t>(stage)]->thread = std::thread([this, stage] { Run(stage); });
    }
  } catch (const std::system_error& error) {
    Push({});  // ends those that have begun
    for (const auto& stage : stages_) {
      if (stage->thread.joinable()) stage->thread.join();
    }
    throw UserError(fmt::format("net.stages = {}: a thread cannot be started ({}); take fewer "
                                "stages or actors",
                                stages, error.what()),
                    "net.stages");
  }
}

Pipeline::~Pipeline() {
  // 1. What is still under way is not needed. A stage may still be in a job that reads another's
  // arrays, so none of them ends before all have counted this one.
  failed_ = true;
  const std::uint64_t last = Push({.way = Way::kEach, .job = [](int) {}});
  for (int stage = 0; stage < stages(); ++stage) AwaitStage(stage, last);
  // 2. The end.
  Push({});
  for (int stage = 0; stage < stages(); ++stage) {
    std::thread& thread = stages_[static_cast<std::size_t>(stage)]->thread;
    if (thread.joinable()) {
      thread.join();
    } else {
      at_end_(stage);
    }
  }
}

std::uint64_t Pipeline::Submit(Way way, Job job) {
  Rethrow();
  return Push({.way = way, .job = std::move(job)});
}

std::uint64_t Pipeline::Push(Task task) {
  const std::uint64_t number = submitted_.load(std::memory_order_relaxed);
  // 1. The place of the job is free once every stage has done the job that was there.
  if (number >= ring_.size()) {
    CatchUp(number + 1 - ring_.size());
    for (int stage = 0; stage < stages(); ++stage) AwaitStage(stage, number - ring_.size());
  }
  const Way way = task.way;
  ring_[number % ring_.size()] = std::move(task);
  submitted_.store(number + 1, std::memory_order_release);
  submitted_.notify_all();
  // 2. The caller's share. Of a job that goes down, it comes last.
  if (!threaded_) {
    for (int i = 0; i < stages(); ++i) Do(way == Way::kDown ? stages() - 1 - i : i, number);
  } else if (way != Way::kDown) {
    CatchUp(number + 1);
  }
  return number;
}

// Does the jobs of stage 0 before `end`.
void Pipeline::CatchUp(std::uint64_t end) {
  for (std::uint64_t n; (n = stages_[0]->done.load(std::memory_order_relaxed)) < end;) Do(0, n);
}

void Pipeline::Run(int stage) {
  for (std::uint64_t number = 0;; ++number) {
    WaitFor(submitted_, number + 1);
    const bool end = !ring_[number % ring_.size()].job;
    Do(stage, number);
    if (end) return at_end_(stage);
  }
}

void Pipeline::Do(int stage, std::uint64_t number) {
  const Task& task = ring_[number % ring_.size()];
  Stage& me = *stages_[static_cast<std::size_t>(stage)];
  // 1. The stage before this one, in the direction of the job.
  if (task.way == Way::kUp && stage > 0) AwaitStage(stage - 1, number);
  if (task.way == Way::kDown && stage + 1 < stages()) AwaitStage(stage + 1, number);
  // 2. The job. After an exception no job runs; stages still count, so that none waits for ever.
  if (task.job && !failed_) {
    const SteadyClock clock;
    const std::int64_t begin = clock.NowNs();
    try {
      task.job(stage);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
    me.busy_ns.fetch_add(clock.NowNs() - begin, std::memory_order_relaxed);
  }
  me.done.store(number + 1, std::memory_order_release);
  me.done.notify_all();
}

void Pipeline::AwaitStage(int stage, std::uint64_t number) {
  WaitFor(stages_[static_cast<std::size_t>(stage)]->done, number + 1);
}

bool Pipeline::Done(std::uint64_t number) {
  Rethrow();
  return std::ranges::all_of(stages_, [number](const auto& stage) {
    return stage->done.load(std::memory_order_acquire) > number;
  });
}

void Pipeline::Wait(std::uint64_t number) {
  CatchUp(number + 1);
  for (int stage = 0; stage < stages(); ++stage) AwaitStage(stage, number);
  Rethrow();
}

void Pipeline::WaitAll() {
  const std::uint64_t count = submitted_.load(std::memory_order_relaxed);
  if (count > 0) Wait(count - 1);
}

void Pipeline::Rethrow() {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace starling::actors
