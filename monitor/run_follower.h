// Follows a run from outside, by the files that its processes write: for the page of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "learner/run_status.h"
#include "monitor/fleet_status.h"
#include "monitor/run_history.h"
#include "results/eval_results.h"
#include "results/run_record.h"
#include "results/summary.h"

namespace starling::monitor {

enum class Standing : std::uint8_t {
  kLive,         // a learner works, or comes
  kLearnerGone,  // the fleet lives without a learner, which is started again
  kElsewhere,    // its files grow, and its processes are not found here
  kFinished,
  kInterrupted,
  kFailed,
  kUnreadable,
};
// "live", "learner gone", ...
std::string_view NameOf(Standing standing);

// Returns the directory where learners with this configuration have theirs on this machine
// (wire/runtime_dir.h); nullopt if there is no such place: the run was trained elsewhere.
std::optional<std::filesystem::path> RuntimeRootOf(const Config& config);

class RunFollower {
 public:
  // `clock` is that of the machine, which also stamps the learner's statuses. It must outlive this.
  RunFollower(std::filesystem::path run_dir, const Clock& clock);

  // Each reads what is new, at most about twice a second, and throws for no content of files.
  // LookAtStatus reads published(), learner_gone() and alive() only: it costs the same however long
  // the run is.
  void Look();
  void LookAtStatus();

  const std::filesystem::path& run_dir() const { return run_dir_; }
  // nullopt: it cannot be read, sentence() says why.
  const std::optional<Config>& config() const { return config_; }
  // Whether a process of the run is at work on this machine: its learner or its supervisor.
  bool alive() const { return alive_.any(); }
  // What the supervisor says; nullopt if there is none.
  const std::optional<FleetStatus>& fleet() const { return fleet_; }
  // The fleet lives without a learner.
  bool learner_gone() const;
  // The learner's newest status; nullopt before the first of a learner, and if the run is over.
  const std::optional<learner::PublishedStatus>& published() const { return published_; }

  // The rest is of the newest Look.
  Standing standing() const { return standing_; }
  // How the run is, in one sentence.
  const std::string& sentence() const { return sentence_; }
  // Whether the rows of actors mean something: a fleet is at work.
  bool has_actors() const { return published_ && !published_->actors.empty(); }
  // REQUIRES: config().
  RunView View();
  const std::vector<results::EvalLine>& evals() const { return evals_; }
  // The last lines of the run's log.
  std::vector<std::string> LogLines() const;

 private:
  struct Alive {
    bool learner = false, supervisor = false;
    bool any() const { return learner || supervisor; }
    friend bool operator==(const Alive&, const Alive&) = default;
  };
  // What a file is like, to know whether it has changed.
  struct Stamp {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type time{};
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  Stamp StampOf(const char* file) const;
  void ReadConfig();
  Alive FindAlive() const;
  void DrawPast(std::int64_t now_ms);
  void Judge(std::int64_t now_ms);
  std::string SentenceOf(Standing standing) const;
  std::string Steps() const;
  std::vector<ActorProcess> Processes() const;

  const std::filesystem::path run_dir_;
  const Clock& clock_;

  // Its configuration, and where its processes are.
  Stamp config_stamp_;
  std::optional<Config> config_;
  std::optional<std::filesystem::path> root_;  // RuntimeRootOf

  // Its processes.
  std::optional<std::int64_t> status_ms_;  // LookAtStatus, the last time
  Alive alive_;
  std::optional<learner::PublishedStatus> published_;
  std::optional<FleetStatus> fleet_;

  // Its files, and the model.
  std::optional<std::int64_t> looked_ms_;  // Look, the last time
  Alive known_alive_;                      // then
  Stamp summary_stamp_, evals_stamp_;
  std::optional<results::RunResult> result_;
  std::vector<results::EvalLine> evals_;
  results::MetricsTail metrics_;
  std::int64_t grown_ms_ = INT64_MIN / 2;  // metrics_ grew, and no process was found
  std::optional<RunHistory> history_;
  std::int64_t past_end_ms_ = 0;  // the end of a run that is over, on the clock of history_
  std::int64_t shown_at_ms_ = 0;  // of the status that history_ has
  Standing standing_ = Standing::kUnreadable;
  std::string sentence_;
};

}  // namespace starling::monitor
