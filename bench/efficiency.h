// Scaling of runs at a fixed pace: efficiencies, a table, the rows of the figure, and its drawing.
// Pure functions over the measurements of bench/efficiency.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace starling::bench {

// A setting to compare (bench/grids/efficiency.toml).
struct PacedWay {
  std::string wire;         // "ipc", "tcp"
  double jitter = 0;        // env.step_jitter
  std::uint64_t bound = 0;  // staleness.bound
  friend auto operator<=>(const PacedWay&, const PacedWay&) = default;
};

struct PacedPoint {
  PacedWay way;
  int actors = 1;
  double rate = 0;  // steps per second after the start (TrainingRun::SteadyRate)
  Json numbers{};   // TrainingRun::Numbers
};

struct PacedRuns {
  double step_ms = 1;  // the pace
  std::vector<PacedPoint> points{};
};

// Steps per second of one actor whose net and wire take no time.
double IdealRate(const PacedRuns& runs);
// Steps per second of one actor on this wire, unbounded and without jitter: the median of its runs.
// CHECKs that it was measured.
double RateOfOne(const PacedRuns& runs, const std::string& wire);
// Steps per second / (actors x RateOfOne).
double Efficiency(const PacedRuns& runs, const PacedPoint& point);
// Steps per second / (actors x IdealRate): at most 1, and at most Efficiency.
double ShareOfIdeal(const PacedRuns& runs, const PacedPoint& point);

// The rows of the figure, at the largest number of actors: unbounded with and without jitter, and
// bounds 4 and 0 with jitter, each over every wire. `judged`: the runs were long enough for
// `holds`.
std::vector<Row> EfficiencyRows(const PacedRuns& runs, bool judged);

// Returns Markdown: a line for each way, a column for each number of actors.
std::string EfficiencyTable(const PacedRuns& runs);

// Returns every point.
Json EfficiencyJson(const PacedRuns& runs);

// Returns an SVG file: steps per second against actors, with jitter, for each wire and bound,
// beside the ideal line.
std::string DrawEfficiency(const PacedRuns& runs);

}  // namespace starling::bench
