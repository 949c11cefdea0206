// What rank 0 keeps for all ranks: the run directory with its lock, the checkpoints, the reports.
//
// Thread safety: none; one thread. The writer of checkpoints has a thread of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "core/locked_file.h"
#include "learner/engine.h"
#include "learner/refusal_watch.h"
#include "learner/status_reporter.h"
#include "learner/storage/checkpoint_keeper.h"
#include "learner/storage/start.h"
#include "wire/runtime_dir.h"

namespace starling::mirror {

// A run that this process alone may write: the private directory for the evaluator, and the lock.
struct HeldRun {
  wire::RuntimeDir runtime_dir;
  LockedFile lock;
  std::filesystem::path dir;
};

// Takes the run. Throws UserError naming the holder if another process has it.
HeldRun HoldRun(const Config& config, const std::filesystem::path& run_dir);

class Books {
 public:
  // All references must outlive this object.
  Books(const Config& config, const net::ParameterLayout& layout, const HeldRun& run,
        learner::Engine& engine, const learner::Start& start, learner::StatusReporter::Sinks sinks,
        RunningClock& clock, const Clock& steady_clock);

  // Never waits.
  void Save(learner::CheckpointContent content) { keeper_.Save(std::move(content)); }
  // Waits until it is written, and reports how far it is; while a full disk may get room it is
  // tried again.
  void SaveLast(learner::CheckpointContent content, const learner::LoopTimes& times);
  bool idle() const { return keeper_.idle(); }
  // Whether a checkpoint was not written since the last call.
  bool TakeFailed() { return keeper_.TakeFailed(); }
  // Call it every turn. Throws learner::GaveUp if another process has taken over the run.
  void Report(const learner::LoopTimes& times);
  // Training has ended; then, after SaveLast, the end.
  void ReportEnd(learner::StatusReporter::Moment moment, const learner::LoopTimes& times);

  // A gradient was refused, or accepted (kNone).
  void Count(std::uint32_t rank, wire::Outcome outcome);
  // Why training cannot go on: all gradients are refused. "" if it can.
  std::string hopeless() const;
  // Why the newest checkpoint could not be written; "" if it was.
  const std::string& checkpoint_error() const { return keeper_.error(); }

 private:
  void AwaitWriter(const learner::LoopTimes& times, std::int64_t waited_ms);

  const Config& config_;
  learner::Engine& engine_;
  RunningClock& clock_;
  EventFd written_;
  learner::CheckpointKeeper keeper_;
  learner::StatusReporter reporter_;
  learner::RefusalWatch watch_{{}};
  RateLimitedLog refusals_;
};

}  // namespace starling::mirror
