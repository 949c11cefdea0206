// What the learner tells the supervisor, several times a second: one JSON object per line over a
// pipe. Everything the progress bar and summary.json know about training comes from here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling::learner {

// An actor that the learner has welcomed.
struct JoinedActor {
  int slot = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t accepted = 0;   // gradients of this incarnation that were accepted
  std::uint64_t steps = 0;      // in those
  std::uint64_t version = 0;    // that the newest of them was computed on
  std::uint64_t staleness = 0;  // of the last that was applied
  std::uint64_t wait_ms = 0;    // for a grant, in all

  friend bool operator==(const JoinedActor&, const JoinedActor&) = default;
};

struct StalenessStatus {
  std::uint64_t max = 0;
  double mean = 0;
  std::vector<std::uint64_t> histogram;  // count for staleness 0, 1, ...
};

struct GradientStatus {
  std::uint64_t received = 0;
  std::uint64_t applied = 0;
  std::uint64_t merged = 0;  // those of the applied that shared an update
  std::uint64_t in_flight = 0;
  std::map<std::string, std::uint64_t> dropped;  // by reason

  std::uint64_t dropped_total() const;
  // received = applied + dropped + in flight.
  bool AddUp() const { return received == applied + dropped_total() + in_flight; }
};

// Where the time went, in seconds, since the first grant of this learner.
struct TimeStatus {
  struct Actors {  // all of them together
    double wait = 0, refresh = 0, act = 0, gradient = 0, push = 0;
    double total() const { return wait + refresh + act + gradient + push; }
  } actors;
  struct Learner {
    double receive = 0, dispatch = 0, idle = 0;  // of the network thread
    double lanes = 0;                            // mean over the lanes
    double total() const { return receive + dispatch + idle; }
  } learner;
};

struct LearnerStatus {
  // "waiting" for the first actors, "running", "done": the actors were sent home.
  std::string phase = "waiting";
  std::uint64_t term = 0;
  std::uint64_t steps = 0, frames = 0, updates = 0;
  std::uint64_t version = 0;  // of the newest weights
  double seconds = 0, steps_per_second = 0;
  std::optional<double> mean_return;  // nothing until an episode has ended
  std::uint64_t episodes = 0;
  // Processes of envs that were replaced, and the episodes that this cut.
  std::uint64_t envs_replaced = 0, episodes_cut = 0;
  StalenessStatus staleness;
  GradientStatus gradients;
  TimeStatus time;
  int actors_alive = 0;
  std::string checkpoint;  // the last complete one, relative to the run directory; "" if none
  std::vector<JoinedActor> joined;  // of a large fleet a part, in turns; all in the last lines
  bool final = false;  // the last line of this learner: its last checkpoint is written, or failed
};

// Nothing if `line` is not a JSON object or a known key has the wrong type (a torn line); keys that
// are absent or null keep their defaults, unknown ones are ignored.
std::optional<LearnerStatus> ParseStatus(std::string_view line);

}  // namespace starling::learner
