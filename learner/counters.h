// The counts of a run, which the status (learner/status.h) reports. They are stored in checkpoints,
// so a resumed run goes on counting.
//
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
  std::uint64_t applied = 0, merged = 0;  // merged: those of the applied that shared an update
  std::map<std::string, std::uint64_t> dropped;         // by reason, wire::OutcomeName
  std::map<std::string, std::uint64_t> frames_refused;  // messages, by reason
  std::uint64_t updates = 0;
  std::uint64_t deadlines = 0;  // grants that ended by staleness.deadline_s
  Histogram staleness;
  std::uint64_t episodes = 0;
  std::uint64_t envs_replaced = 0;  // processes of envs that died and were started again
  std::uint64_t episodes_cut = 0;   // by that; not in `episodes`
  std::deque<double> recent_returns, recent_lengths;  // lengths in steps of the agent
  double seconds = 0;  // from the first grant to the last update, over all terms

  void AddEpisode(const wire::Episode& episode);  // ignores one that is not finite
  void AddDropped(wire::Outcome outcome) { ++dropped[wire::OutcomeName(outcome)]; }
  std::uint64_t dropped_total() const;
  std::uint64_t in_flight() const { return received - applied - dropped_total(); }
  // Over the last kEpisodeWindow; NaN before the first episode.
  double mean_return() const;
  double mean_length() const;

  // Gradients in flight are not saved as received: they end with their learner.
  std::string Save() const;  // JSON
  // Throws std::runtime_error if `text` is not what Save wrote.
  static Counters Restore(const std::string& text);
};

}  // namespace starling::learner
