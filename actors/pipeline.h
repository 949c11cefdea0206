// S stages that do the same jobs in the same order, each on a thread of its own.
//
// A job that goes up is done by stage 0 first, then by stage 1, and so on; one that goes down, from
// the last stage to the first; and one for each, by all in no order. So while stage 1 does job 7,
// stage 0 can do job 8. A stage sees what the stages before it wrote for the same job.
//
// The caller's thread is stage 0. It does its share of a job in Submit, except of jobs that go
// down: these it does before its next job, or in Wait.
//
// Each thread treats denormals as the owner's did when it began (core/denormals.h).
//
// After an exception in any stage no job is done any more, and every call throws that exception.
//
// Thread safety: the owner's thread alone calls it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace starling::actors {

enum class Way : std::uint8_t { kUp, kDown, kEach };

class Pipeline {
 public:
  using Job = std::function<void(int stage)>;

  // `at_end` is called for each stage at last, on its thread. `threaded` = false: all stages on the
  // caller's thread, in Submit; the results are the same.
  // Throws UserError if a thread cannot be started.
  Pipeline(int stages, std::function<void(int stage)> at_end, bool threaded = true);
  // Waits for jobs that have begun and drops the others.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Returns the number of the job.
  std::uint64_t Submit(Way way, Job job);
  // Whether every stage has done the job; waits until it has.
  bool Done(std::uint64_t number);
  void Wait(std::uint64_t number);
  // Of all jobs so far.
  void WaitAll();

  int stages() const { return static_cast<int>(stages_.size()); }
  // Time that a stage has spent in jobs.
  std::int64_t busy_ns(int stage) const {
    return stages_[static_cast<std::size_t>(stage)]->busy_ns;
  }

 private:
  struct Task {
    Way way = Way::kEach;
    Job job;  // empty: the end
  };
  // A cache line of its own, because its thread writes it and others read it.
  struct alignas(64) Stage {
    std::atomic<std::uint64_t> done{0};  // jobs
    std::atomic<std::int64_t> busy_ns{0};
    std::thread thread;
  };

  std::uint64_t Push(Task task);
  void Run(int stage);
  void Do(int stage, std::uint64_t number);
  void CatchUp(std::uint64_t end);
  void AwaitStage(int stage, std::uint64_t number);
  void Rethrow();

  const std::function<void(int stage)> at_end_;
  const bool threaded_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<Task> ring_;  // job n is at n modulo its size
  alignas(64) std::atomic<std::uint64_t> submitted_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;  // the first; guarded by mutex_
};

}  // namespace starling::actors
