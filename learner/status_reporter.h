// Reports the status of training: to the supervisor or the screen, into metrics.jsonl, to
// TensorBoard and to the pages.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "core/metrics.h"
#include "learner/bulletin.h"
#include "learner/engine.h"
#include "learner/run_status.h"
#include "learner/tensorboard_log.h"
#include "learner/work_times.h"

namespace starling::learner {

class StatusReporter {
 public:
  struct Sinks {  // each may be empty; called several times a second
    std::function<void(const RunStatus&)> on_status{};
    // For readers in other threads; it must not wait for them.
    std::function<void(std::shared_ptr<const Bulletin>)> on_bulletin{};
  };
  enum class Moment : std::uint8_t {
    kRunning,    // reports only if a report is due
    kDismissed,  // training has ended
    kEnd,        // the last checkpoint is written, or failed
  };

  // `clock` paces the reports and measures silences; `steady_clock` stamps bulletins, whose readers
  // compare it with theirs. The references must outlive the reporter.
  StatusReporter(const Config& config, const std::filesystem::path& run_dir, Engine& engine,
                 Sinks sinks, const Clock& clock, const Clock& steady_clock);

  void Report(Moment moment, const LoopTimes& loop, const std::string& checkpoint);

 private:
  RunStatus StatusNow(Moment moment, const LoopTimes& loop, const std::string& checkpoint);
  std::vector<JoinedActor> JoinedActors(bool all);
  void WriteMetrics(const RunStatus& status);
  void ShowBulletin(const RunStatus& status);

  const Config& config_;
  Engine& engine_;
  const Sinks sinks_;
  const Clock &clock_, &steady_clock_;
  MetricsFile metrics_;
  TensorBoardLog tensorboard_;
  RateLimitedLog unwritten_;
  bool journal_error_reported_ = false;
  std::int64_t reported_ms_ = INT64_MIN / 2, metrics_ms_ = INT64_MIN / 2;  // the last ones
};

}  // namespace starling::learner
