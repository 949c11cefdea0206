// Curves of runs and groups (curves.cc), and figures of them as inline SVG (plot.cc). The figures
// hold no colours but the classes of the style sheet (tools/report/style.h), which has colours for
// light and for dark pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "monitor/chart.h"
#include "results/run_record.h"

namespace starling::report {

// ---- Curves: pure functions of the points in the files of runs

struct Sample {
  double x = 0, y = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};
using Samples = std::vector<Sample>;  // x ascending

// Mean return of the last 100 training episodes, by steps or seconds.
Samples ReturnBySteps(const results::LoadedRun& run);
Samples ReturnBySeconds(const results::LoadedRun& run);
Samples EvaluationBySteps(const results::LoadedRun& run);
// Steps per second by seconds. Divides the run's time into equal parts of about `window_s` (at
// least one, at most as many as there are lines); a sample is the mean of a part, at its middle.
Samples Throughput(const results::LoadedRun& run, double window_s);

// Linear between neighbours, the first or last y outside. REQUIRES: `samples` is not empty.
double At(const Samples& samples, double x);

// Returns at most `most` samples, evenly spaced by index, with the first and the last. REQUIRES:
// most >= 2.
Samples Thinned(const Samples& samples, std::size_t most);

// The interquartile mean over runs, with its 95 % interval.
struct GroupCurve {
  Samples middle;
  std::vector<double> low, high;  // beside `middle`; empty for a single run
};
// At up to `points` places, evenly over the x that every run covers; empty if there are none.
// `stratum` as in results/statistics.h.
GroupCurve Across(const std::vector<Samples>& runs, std::size_t points, std::uint32_t stratum);

// ---- Figures

inline constexpr std::size_t kColors = 8, kDashes = 3, kStyles = kColors * kDashes;

// "g2 d0": the classes of the colour and the dashes of a Group::style.
std::string GroupClass(std::size_t style);

struct Curve {
  enum class Kind : std::uint8_t {
    kGroup,       // thick
    kRun,         // thin: one of the runs behind a group
    kUnfinished,  // dotted, with a cross where it stopped
  };
  Kind kind = Kind::kGroup;
  std::size_t style = 0;  // of its group
  Samples samples;
  std::string title;  // tooltip
  bool dots = false;  // mark every sample
};

struct Band {
  std::size_t style = 0;  // of its group
  GroupCurve curve;
};

// The range of some values.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void Add(double value);
  void Add(const Extent& other);
  bool empty() const { return low > high; }
};

struct Extents {
  Extent x{}, y{};
};

struct Plot {
  std::string x_label, y_label;
  bool from_zero = false;  // y
  bool small = false;      // one of many beside each other
  std::vector<Band> bands{};
  std::vector<Curve> curves{};
  std::string if_empty{};  // text instead of a plot without samples
  Extents shown{};         // the axes show at least this (ShareScale)
};
std::string DrawPlot(const Plot& plot);

// Gives all plots the same axes.
void ShareScale(std::vector<Plot>& plots);

// Draws shares; `top` is the largest on the axis. A sentence replaces an empty histogram. A `small`
// one, of many beside each other, has no names of axes.
std::string DrawHistogram(const monitor::StalenessBins& bins, double top, std::size_t style,
                          bool small = false);

}  // namespace starling::report
