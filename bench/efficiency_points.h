// What runs at a set pace say of scaling: efficiencies, a table, and the rows of the figure. Pure
// functions over what bench/efficiency.cc measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace starling::bench {

// The ways to run that are compared. A bound goes with updates.gradients = "auto", as many gradients in
// an update as the bound needs, and one above 0 with updates.in_flight = 2, so that an actor goes on
// while its gradient waits for the others of its update: what somebody who sets a bound and wants speed
// would choose.
struct PacedWay {
  std::string wire;         // "ipc", "tcp"
  double jitter = 0;        // env.step_jitter
  std::uint64_t bound = 0;  // staleness.bound
  friend bool operator==(const PacedWay&, const PacedWay&) = default;
};

struct PacedPoint {
  PacedWay way;
  int actors = 1;
  double rate = 0;  // steps per second, the start left out (TrainingRun::SteadyRate)
  std::uint64_t updates = 0, max_staleness = 0;
  double mean_staleness = 0;
  double cpu_ms = 0;  // of all processes for one gradient, start and end of the run included
};

struct PacedRuns {
  double step_ms = 1;  // the pace
  std::vector<PacedPoint> points{};
};

// Steps per second of one actor whose net and wire take no time.
double IdealRate(const PacedRuns& runs);
// What one actor really does, unbounded and without jitter, on this wire. CHECKs that it was measured.
double RateOfOne(const PacedRuns& runs, const std::string& wire);
// Steps per second over actors x RateOfOne.
double Efficiency(const PacedRuns& runs, const PacedPoint& point);
// Steps per second over actors x IdealRate: never more than 1, and never more than Efficiency.
double ShareOfIdeal(const PacedRuns& runs, const PacedPoint& point);

// The points of a way, in the order of their actors.
std::vector<PacedPoint> PointsOf(const PacedRuns& runs, const PacedWay& way);

// What is asked at the largest number of actors: of every wire, without jitter and with, unbounded; and
// of every wire at a bound of 4 with jitter. `judged`: the runs were long enough to say.
std::vector<Row> EfficiencyRows(const PacedRuns& runs, bool judged);

// Markdown: a line for each way, a column for each number of actors.
std::string EfficiencyTable(const PacedRuns& runs);

// An object, as text: everything.
std::string EfficiencyJson(const PacedRuns& runs);

// An SVG that stands alone: steps per second against actors, with jitter, ipc beside tcp, each bound
// beside the ideal line.
std::string DrawEfficiency(const PacedRuns& runs);

}  // namespace starling::bench
