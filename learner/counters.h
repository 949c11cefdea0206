// The counts of a run, reported in the status (learner/run_status.h). Checkpoints store them, so a
// resumed run continues them.
//
// Thread safety: none; they belong to the network thread.
// Invariant: received = applied + (sum of dropped) + in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/histogram.h"
#include "wire/protocol.h"

namespace starling::learner {

struct Counters {
  static constexpr std::size_t kEpisodeWindow = 100;

  std::uint64_t received = 0;             // gradients
  std::uint64_t applied = 0, merged = 0;  // merged: applied in an update of several gradients
  std::map<std::string, std::uint64_t> dropped;         // gradients by reason (wire::OutcomeName)
  std::map<std::string, std::uint64_t> frames_refused;  // messages by reason
  std::uint64_t updates = 0;
  std::uint64_t deadlines = 0;  // grants that ended by staleness.deadline_s
  // Times that the run went on without states of its actors: it is not what it would have been.
  std::uint64_t breaks = 0;
  Histogram staleness;
  Histogram data_age;  // versions since the unroll was played; only where data is used again
  std::uint64_t episodes = 0;
  std::uint64_t envs_replaced = 0;  // env processes that died and were restarted
  std::uint64_t episodes_cut = 0;   // episodes that ended with them; not in `episodes`
  std::deque<double> recent_returns, recent_lengths;  // newest last; lengths in agent steps
  double seconds = 0;  // from the first grant to the last update, over all terms

  // Counts the episodes of a gradient; of those that it tells, none whose return is not finite.
  void AddEpisodes(const wire::Gradient& gradient);
  void AddDropped(wire::Outcome outcome) { ++dropped[wire::OutcomeName(outcome)]; }
  std::uint64_t dropped_total() const;
  std::uint64_t in_flight() const { return received - applied - dropped_total(); }
  // Over the last kEpisodeWindow episodes; NaN before the first.
  double mean_return() const;
  double mean_length() const;

  // Returns JSON. Gradients in flight are not saved: they are lost with their learner.
  std::string Save() const;
  // The inverse of Save. Throws std::runtime_error if `text` is malformed.
  static Counters Restore(const std::string& text);
};

}  // namespace starling::learner
