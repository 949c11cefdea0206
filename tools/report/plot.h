// Figures as inline SVG, drawn with the classes of the page's style sheet (tools/report/style.h):
// nothing in them is a colour, so that they follow a light or dark page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "monitor/staleness_bins.h"
#include "tools/report/curves.h"

namespace starling::report {

inline constexpr std::size_t kColors = 8, kDashes = 3, kStyles = kColors * kDashes;

// "g2 d0": the classes that give the elements of a group its colour and its dashes (Group::style).
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
  std::string title;  // shown under the pointer
  bool dots = false;  // mark every sample
};

struct Band {
  std::size_t style = 0;  // of its group
  GroupCurve curve;
};

// From the least to the largest of some values.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void Add(double value);
  void Add(const Extent& other);
  bool empty() const { return low > high; }
};

struct Plot {
  std::string x_label, y_label;
  bool from_zero = false;  // y
  bool small = false;      // one of many beside each other
  std::vector<Band> bands{};
  std::vector<Curve> curves{};
  std::string if_empty{};  // said instead, if there is not a single sample
  Extent x{}, y{};         // what the axes show at least (ShareScale)
};
std::string DrawPlot(const Plot& plot);

// From now on all of them have the same axes.
void ShareScale(std::vector<Plot>& plots);

// As shares; `top` is the largest on the axis. An empty histogram is said to be so. A `small` one,
// of many beside each other, has no names of axes.
std::string DrawHistogram(const monitor::StalenessBins& bins, double top, std::size_t style,
                          bool small = false);

}  // namespace starling::report
