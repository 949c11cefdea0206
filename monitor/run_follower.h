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

namespace starling::monitor {

enum class Standing : std::uint8_t {
  kLive,         // a learner works, or comes
  kLearnerGone,  // the fleet lives without a learner, which is started again
  kElsewhere,    // the run's files grow, and its processes are not on this machine
  kFinished,
  kInterrupted,
  kFailed,
  kUnreadable,
};
// "live", "learner gone", ...
std::string_view NameOf(Standing standing);

class RunFollower {
 public:
  // `clock` is that of the machine, which also stamps the learner's statuses. It must outlive this.
  RunFollower(std::filesystem::path run_dir, const Clock& clock);

  // Each reads what is new, at most about twice a second, and throws for no content of files.
  // LookAtStatus reads published(), learner_gone() and alive() only: that costs the same however long
  // the run is.
  void Look();
  void LookAtStatus();

  const std::filesystem::path& run_dir() const { return run_dir_; }
  // nullopt: it cannot be read, sentence() says why.
  const std::optional<Config>& config() const { return config_; }
  Standing standing() const { return standing_; }
  // How the run is, in one sentence.
  const std::string& sentence() const { return sentence_; }
  // Whether a process of the run is at work on this machine: its learner or its supervisor.
  bool alive() const { return alive_.any(); }
  // The fleet lives without a learner.
  bool learner_gone() const;
  // The learner's newest status; nullopt before the first, and for a run that is over.
  const std::optional<learner::PublishedStatus>& published() const { return published_; }
  // Whether the rows of actors mean something: a fleet is at work.
  bool has_actors() const { return published_ && !published_->actors.empty(); }
  // REQUIRES: config().
  RunView View();
  const std::vector<results::EvalLine>& evals() const { return run_.evals; }
  // The last lines of the run's log.
  std::vector<std::string> LogLines() const;

 private:
  // What changes when one of the files does.
  struct Signature {
    std::uintmax_t metrics = 0, summary = 0, evals = 0;
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  struct Alive {
    bool learner = false, supervisor = false;
    bool any() const { return learner || supervisor; }
    friend bool operator==(const Alive&, const Alive&) = default;
  };

  void ReadConfig();
  Alive FindAlive() const;
  Signature SignatureNow() const;
  void Reload(std::int64_t now_ms);
  void Judge(std::int64_t now_ms);
  std::string SentenceOf(Standing standing) const;
  std::vector<ActorProcess> Processes() const;

  const std::filesystem::path run_dir_;
  const Clock& clock_;
  std::optional<Config> config_;
  std::filesystem::path root_;                         // of runtime directories
  std::optional<std::int64_t> looked_ms_, status_ms_;  // Look and LookAtStatus, the last time
  Alive alive_, known_alive_;                          // known_: when `run_` was read
  Signature signature_;
  std::int64_t grown_ms_ = INT64_MIN / 2;  // metrics.jsonl was seen to grow
  results::LoadedRun run_;
  std::optional<RunHistory> history_;
  std::int64_t past_end_ms_ = 0;  // the end of a run that is over, on the clock of history_
  std::optional<learner::PublishedStatus> published_;
  std::int64_t shown_at_ms_ = 0;  // that of the status that history_ has
  std::optional<FleetStatus> fleet_;
  Standing standing_ = Standing::kUnreadable;
  std::string sentence_;
};

}  // namespace starling::monitor
