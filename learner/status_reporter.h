// Reports the status of training: to the supervisor or the screen, into metrics.jsonl, to
// TensorBoard and to the pages.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/tensorboard.h"
#include "learner/engine.h"
#include "learner/run_status.h"

namespace starling::learner {

// The network thread since the first grant of this term; the three add up to the time that passed.
struct LoopTimes {
  std::int64_t receive_ns = 0;   // receiving, decoding and checking messages, refusals
  std::int64_t dispatch_ns = 0;  // judging, handing updates to the applier, answers, reports
  std::int64_t idle_ns = 0;      // waiting for something to happen
};

inline constexpr std::size_t kMaxRows = 1024;  // the largest actors.count

// Returns a row for every member and for every empty slot below `expected`, in the order of slots;
// the first kMaxRows of them.
std::vector<ActorStatus> SlotRows(const Roster& roster, std::size_t expected, std::int64_t now_ms);

// Returns the points of a line, without those that have no finite number. The speed is that since
// the line `before`; there is none if no training time has passed.
std::vector<Scalar> ScalarsOf(const RunStatus& status, const RunStatus& before);

// The run in TensorBoard: for every line of metrics.jsonl one point in each chart.
class TensorBoardLog {
 public:
  // Writes to run_dir/tensorboard if `wanted`, for a learner that starts at `steps`. A failure, now
  // or later, is logged once.
  TensorBoardLog(bool wanted, const std::filesystem::path& run_dir, std::uint64_t steps);

  // Does nothing if no step was made since the last line: then there is no new gradient to report.
  void Show(const RunStatus& status);

 private:
  std::optional<EventFile> events_;
  RunStatus before_;  // of the last line
  bool error_reported_ = false;
};

class StatusReporter {
 public:
  struct Sinks {                                        // each may be empty
    std::function<void(const RunStatus&)> on_status{};  // called several times a second
    // Called about once a second. For readers in other processes; it must not wait for them.
    std::function<void(const PublishedStatus&)> on_published{};
  };
  enum class Moment : std::uint8_t {
    kRunning,    // reports only if a report is due
    kDismissed,  // training has ended
    kSaving,     // the last checkpoint is being written; reports only if a report is due
    kEnd,        // the last checkpoint is written, or failed
  };

  // `clock` paces the reports and measures silences; `steady_clock` stamps published
  // statuses, whose readers compare it with theirs. The references must outlive the reporter.
  StatusReporter(const Config& config, const std::filesystem::path& run_dir, Engine& engine,
                 Sinks sinks, const Clock& clock, const Clock& steady_clock);

  // `saving`: of the last checkpoint, at kSaving.
  void Report(Moment moment, const LoopTimes& loop, const std::string& checkpoint,
              std::optional<SavingStatus> saving = {});

 private:
  RunStatus StatusNow(Moment moment, const LoopTimes& loop, const std::string& checkpoint);
  std::vector<ActorStatus> JoinedActors(bool all);
  void WriteMetrics(const RunStatus& status);
  void NoteJournal();
  void Publish(const RunStatus& status);

  const Config& config_;
  Engine& engine_;
  const Sinks sinks_;
  const Clock &clock_, &steady_clock_;
  MetricsFile metrics_;
  TensorBoardLog tensorboard_;
  RateLimitedLog unwritten_;
  std::string journal_error_;  // the newest that was said
  bool journal_broken_ = false;
  // The last ones.
  std::int64_t reported_ms_ = INT64_MIN / 2, metrics_ms_ = INT64_MIN / 2,
               published_ms_ = INT64_MIN / 2;
};

}  // namespace starling::learner
