// The status of training: one struct, filled by the learner several times a second, and its one
// form as JSON. The learner writes it as a line into the pipe to the supervisor and into
// metrics.jsonl; the progress bar, the pages and summary.json know nothing else about training.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace starling::learner {

// A slot of the run: its member, or why there is none.
struct ActorStatus {
  std::int64_t slot = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t accepted = 0;   // gradients of this incarnation that were held
  std::uint64_t steps = 0;      // samples in those
  std::uint64_t version = 0;    // base of the newest of them
  std::uint64_t staleness = 0;  // of the last that was applied
  std::uint64_t wait_us = 0;    // for grants, in all; a status line has milliseconds
  // Only a published status holds the fields below.
  bool alive = false;     // the slot has a member; not part of the JSON, whose rows all have
  std::string left{};     // why its last member left; "" if it has one or never had one
  std::string host{};     // reported by the actor
  std::uint32_t pid = 0;  // reported by the actor; on its host
  std::string key{};      // name of the key it joined with; "" without keys
  double silent_s = 0;    // since its last message

  friend bool operator==(const ActorStatus&, const ActorStatus&) = default;
};

struct StalenessStatus {
  std::uint64_t bound = kUnbounded;  // staleness.bound
  std::uint64_t max = 0;
  double mean = 0;
  std::vector<std::uint64_t> histogram{};  // count for staleness 0, 1, ...

  friend bool operator==(const StalenessStatus&, const StalenessStatus&) = default;
};

// Where an unroll is used more than once (updates.epochs).
struct ReuseStatus {
  double kl = 0, clipped = 0;  // of the newest gradient (net/loss.h)
  // Age of the data of applied gradients: versions since the weights that played it.
  std::uint64_t age_max = 0;
  double age_mean = 0;
  std::vector<std::uint64_t> age_histogram{};

  friend bool operator==(const ReuseStatus&, const ReuseStatus&) = default;
};

struct GradientStatus {
  std::uint64_t received = 0;
  std::uint64_t applied = 0;
  std::uint64_t merged = 0;  // those of the applied that shared an update
  std::uint64_t in_flight = 0;
  std::map<std::string, std::uint64_t> dropped{};  // by reason

  std::uint64_t dropped_total() const;
  // received = applied + dropped + in flight.
  bool AddUp() const { return received == applied + dropped_total() + in_flight; }

  friend bool operator==(const GradientStatus&, const GradientStatus&) = default;
};

// Seconds since the first grant of this learner.
struct TimeStatus {
  struct Actors {  // sums over all actors
    double wait = 0, refresh = 0, act = 0, act_wait = 0, gradient = 0, push = 0;
    double total() const { return wait + refresh + act + act_wait + gradient + push; }

    friend bool operator==(const Actors&, const Actors&) = default;
  } actors;
  struct Learner {
    double receive = 0, dispatch = 0, idle = 0;  // of the network thread
    double lanes = 0;                            // mean over the lanes
    double total() const { return receive + dispatch + idle; }

    friend bool operator==(const Learner&, const Learner&) = default;
  } learner;

  friend bool operator==(const TimeStatus&, const TimeStatus&) = default;
};

// The newest gradient, as its actor reported it.
struct LossStatus {
  double policy = 0, value = 0, entropy = 0, grad_norm = 0;

  friend bool operator==(const LossStatus&, const LossStatus&) = default;
};
struct UnrollStatus {  // microseconds of its unroll
  std::uint64_t wait = 0, refresh = 0, act = 0, act_wait = 0, gradient = 0, push = 0;

  UnrollStatus& operator+=(const UnrollStatus& other);
  friend bool operator==(const UnrollStatus&, const UnrollStatus&) = default;
};

// A checkpoint while it is written.
struct SavingStatus {
  std::uint64_t written = 0, size = 0;  // bytes: on the disk, of the file
  std::uint64_t waited = 0;             // seconds, for room on a full disk; 0 while it is written

  friend bool operator==(const SavingStatus&, const SavingStatus&) = default;
};

struct RunStatus {
  // "waiting" for the first actors, "running", "done": the actors were sent home.
  std::string phase = "waiting";
  std::uint64_t term = 0;
  std::uint64_t steps = 0, frames = 0, updates = 0;
  double seconds = 0;           // from the first grant to the last update, over all terms
  double steps_per_second = 0;  // steps / seconds
  std::optional<double> mean_return{}, mean_length{};  // nullopt until an episode has ended
  std::uint64_t episodes = 0;
  std::uint64_t episodes_cut = 0, envs_replaced = 0;  // Counters
  double lr = 0, entropy_coef = 0;                    // of the last update
  LossStatus losses{};
  GradientStatus gradients{};
  std::map<std::string, std::uint64_t> frames_refused{};  // messages, by reason
  std::uint64_t deadlines = 0;                            // grants that expired
  std::uint64_t breaks = 0;                               // Counters
  StalenessStatus staleness{};
  std::optional<ReuseStatus> reuse{};
  int actors_alive = 0;
  std::optional<UnrollStatus> actor_us{};  // absent in a simulation
  TimeStatus time{};
  std::uint64_t version = 0;  // of the newest weights
  std::string checkpoint{};   // the last complete one, relative to the run directory; "" if none
  std::optional<SavingStatus> saving{};  // of the last checkpoint while it is awaited, else absent
  std::vector<ActorStatus> joined{};     // members: part of a large fleet, in turns; all at the end
  bool final = false;  // the last line of this learner: its last checkpoint is written, or failed

  friend bool operator==(const RunStatus&, const RunStatus&) = default;
};

// A status with a row for each slot, for readers in other processes such as the status pages.
struct PublishedStatus {
  std::int64_t at_ms = 0;  // steady clock of the machine, when it was made
  double unix_s = 0;       // wall clock, when it was made
  RunStatus status{};
  std::vector<ActorStatus> actors{};  // see SlotRows
  std::size_t not_listed = 0;         // members without a row
};

// The status line. Numbers that are not finite or not known are null.
nlohmann::ordered_json ToJson(const RunStatus& status);
// The line of metrics.jsonl: ToJson without the histograms, the actors, `saving` and `final`.
nlohmann::ordered_json MetricsLine(const RunStatus& status);

// Returns nullopt if `line` is not a JSON object or a known key has the wrong type (a torn line).
// Keys that are absent or null keep their defaults; unknown ones are ignored.
std::optional<RunStatus> ParseStatus(std::string_view line);

// A published status as one object: ToJson without `final`, and with a named row for each slot in
// place of `joined`.
nlohmann::ordered_json ToJson(const PublishedStatus& published);
// Its members are in `joined`, too. Returns nullopt as ParseStatus.
std::optional<PublishedStatus> ParsePublished(std::string_view text);

}  // namespace starling::learner
