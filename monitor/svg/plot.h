// Figures as inline SVG: curves with bands, and histograms of staleness. They hold no colours but
// the classes of the style sheet (monitor/svg/style.h), which has colours for light and for dark
// pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "monitor/chart.h"

namespace starling::monitor {

struct Sample {
  double x = 0, y = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};
using Samples = std::vector<Sample>;  // x ascending

// The interquartile mean over runs, with its 95 % interval.
struct GroupCurve {
  Samples middle;
  std::vector<double> low, high;  // beside `middle`; empty for a single run
};

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

// An interval at one place, as a vertical line.
struct Whisker {
  std::size_t style = 0;  // of its group
  double x = 0, low = 0, high = 0;
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
  bool part = false;       // x begins where the samples do, not at 0
  std::vector<Band> bands{};
  std::vector<Whisker> whiskers{};
  std::vector<Curve> curves{};
  std::string if_empty{};             // text instead of a plot without samples
  Extents shown{};                    // the axes show at least this (ShareScale)
  std::vector<std::string> places{};  // if any: the x axis has these at 0, 1, ..., or some of them
};
// The <svg> has attributes for scripts: data-left, data-right, data-top and data-bottom are the
// edges in pixels of its viewBox, data-low and data-high the x values at left and right.
std::string DrawPlot(const Plot& plot);

// How much happened in each row at each place along the x axis, as cells of a colour that is the
// stronger the more did. Each row has as many shares as the others, evenly over `x`.
struct Strips {
  std::string x_label, y_label;
  Extent x{};
  std::vector<std::string> rows{};            // their names, the lowest last
  std::vector<std::vector<double>> shares{};  // of each row, 0 to 1
};
// The <svg> has the attributes of DrawPlot's.
std::string DrawStrips(const Strips& strips);

// Gives all plots the same axes.
void ShareScale(std::vector<Plot>& plots);

// Draws shares; `top` is the largest on the axis. A sentence replaces an empty histogram. A `small`
// one, of many beside each other, has no names of axes. A `bound` is a line right of its bar.
std::string DrawHistogram(const StalenessBins& bins, double top, std::size_t style,
                          bool small = false, std::optional<std::uint64_t> bound = {});

}  // namespace starling::monitor
