// The model of a running run: status lines of the learner gathered over the whole run in bounded
// memory. Views (monitor/screen/) only draw it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "learner/run_goal.h"
#include "learner/run_status.h"
#include "monitor/chart.h"
#include "monitor/console.h"
#include "monitor/fleet_status.h"

namespace starling::monitor {

struct ActorRow {
  // Ordered by how much an actor deserves a look. kStarting: no gradient of this process was
  // accepted yet. kSilent: the process lives, but the learner no longer counts it as a member.
  enum class State : std::uint8_t { kDead, kSilent, kStarting, kAlive };
  int slot = 0;
  State state = State::kStarting;
  // nullopt before the first gradient.
  std::optional<std::uint64_t> version{};    // of the weights behind its newest gradient
  std::uint64_t lag = 0;                     // staleness of its last applied gradient
  std::optional<double> steps_per_second{};  // over the last ten seconds
  std::optional<double> waiting{};           // share of them spent waiting for grants, 0 to 1
  std::uint64_t restarts = 0;
};

// "dead", "silent", "starting", "alive".
std::string_view NameOf(ActorRow::State state);

// A row per actor: the learner's account of it, and the supervisor's account of its process.
class ActorRows {
 public:
  explicit ActorRows(int actors) : slots_(static_cast<std::size_t>(actors)) {}

  // Takes at most one point per actor and second, so that numbers on a screen can be read.
  void Add(std::int64_t now_ms, const learner::RunStatus& status);
  // Returns a row per slot. REQUIRES: one process per slot.
  std::vector<ActorRow> Rows(const std::vector<ActorProcess>& processes) const;

 private:
  struct Slot {
    std::uint64_t term = 0;
    std::int64_t member_ms = 0;                   // last time the learner listed it as a member
    Window<learner::ActorStatus> points{10'000};  // of one incarnation
  };
  std::vector<Slot> slots_;
  std::int64_t newest_ms_ = 0;  // of the newest status
};

// The settings of a run that a view names.
struct RunFacts {
  std::string env;
  std::uint64_t seed = 1;
  std::uint64_t bound = 0;  // kUnbounded: none
  bool drop = false;        // staleness.on_exceed = "drop"
  learner::RunGoal goal;
  int actors = 0;  // that the run waits for, wherever they come from
};
RunFacts FactsOf(const Config& config);

// The state of a run at one moment.
struct RunView {
  RunFacts facts;
  Progress progress;
  double elapsed_s = 0;                // since the start of the curves
  const Series* returns = nullptr;     // mean return over time; never null
  const Series* rate = nullptr;        // steps per second over time; never null
  learner::StalenessStatus staleness;  // of all gradients applied so far
  std::vector<ActorRow> actors;        // by slot
  std::string bottleneck;              // of the last ten seconds; "" while unknown
};

class RunHistory {
 public:
  // Keeps rows for the first `actors` slots. Time on the curves begins at `start_ms`.
  RunHistory(RunFacts facts, int actors, std::int64_t start_ms);

  // Adds what the run did before this program began to watch: its steps and mean return `at_s`
  // after the start. REQUIRES: times do not go back; called before Add.
  void AddPast(double at_s, std::uint64_t steps, std::optional<double> mean_return);

  void Add(std::int64_t now_ms, const learner::RunStatus& status);
  // Whether the learner lives and does not report: its newest status is old.
  void SetSilent(bool silent) { silent_ = silent; }
  // How far the redo is; nullopt: none is at work.
  void SetRedo(const std::optional<RedoStatus>& redo) { redo_ = redo; }
  // `over`: the run ends, so the rows of the actors stay as they were. The view points into this.
  RunView View(std::int64_t now_ms, const std::vector<ActorProcess>& processes, bool over);
  Progress progress() const;

 private:
  double SecondsAt(std::int64_t now_ms) const {
    return static_cast<double>(now_ms - start_ms_) / 1000.0;
  }
  void AddTime(std::int64_t now_ms, std::uint64_t term, const learner::TimeStatus& time);

  const RunFacts facts_;
  const std::int64_t start_ms_;
  ActorRows actors_;
  Series returns_, rate_;
  RateMeter meter_;
  std::uint64_t term_ = 0;                    // of the points in time_
  Window<learner::TimeStatus> time_{10'000};  // about one point a second
  std::optional<learner::RunStatus> status_;  // the newest
  std::vector<ActorRow> rows_;
  bool silent_ = false;
  std::optional<RedoStatus> redo_;
};

}  // namespace starling::monitor
