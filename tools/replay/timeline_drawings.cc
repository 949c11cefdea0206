#include "tools/replay/timeline_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"

namespace starling::replay {
namespace {

using Gradient = UpdateDetails::Gradient;

constexpr std::size_t kBins = 250;      // of a curve, and columns of the strips
constexpr std::size_t kMaxRows = 32;    // strips of actors
constexpr std::size_t kRemarkable = 5;  // updates of each kind

// ---- curves

// Calls back with each value of an update.
using ValuesOf =
    std::function<void(const TimelineUpdate&, const std::function<void(double value)>&)>;

// Mean, least and largest value of each of at most kBins parts of the updates.
monitor::GroupCurve Binned(const std::vector<TimelineUpdate>& updates, const ValuesOf& values_of) {
  monitor::GroupCurve curve;
  const std::size_t bins = std::min(kBins, updates.size());
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t begin = updates.size() * bin / bins, end = updates.size() * (bin + 1) / bins;
    double sum = 0;
    std::size_t count = 0;
    monitor::Extent range;
    for (std::size_t i = begin; i < end; ++i) {
      values_of(updates[i], [&](double value) {
        if (!std::isfinite(value)) return;
        sum += value;
        ++count;
        range.Add(value);
      });
    }
    if (count == 0) continue;
    const double middle =
        static_cast<double>(updates[begin].version() + updates[end - 1].version()) / 2;
    curve.middle.push_back({middle, sum / static_cast<double>(count)});
    curve.low.push_back(range.low);
    curve.high.push_back(range.high);
  }
  return curve;
}

struct Measured {
  const char *name, *of;
  bool stands_out = false;  // where it is largest
  ValuesOf values;
};

std::vector<Measured> AllMeasured() {
  const auto each = [](auto value_of) -> ValuesOf {
    return [value_of](const TimelineUpdate& update, const auto& add) {
      for (const Gradient& gradient : update.details.gradients) add(value_of(gradient));
    };
  };
  const auto loss = [](double TimelineUpdate::Losses::*which) -> ValuesOf {
    return [which](const TimelineUpdate& update, const auto& add) {
      for (const TimelineUpdate::Losses& losses : update.losses) add(losses.*which);
    };
  };
  return {
      {"return", "of the episodes of training", false,
       [](const TimelineUpdate& update, const auto& add) {
         for (const double value : update.returns) add(value);
       }},
      {"staleness", "versions between computing and applying", true,
       each([](const Gradient& one) { return static_cast<double>(one.staleness); })},
      {"norm", "of a gradient before clipping", true,
       each([](const Gradient& one) { return one.norm; })},
      {"value loss", "of a gradient", true, loss(&TimelineUpdate::Losses::value)},
      {"policy loss", "of a gradient", false, loss(&TimelineUpdate::Losses::policy)},
      {"entropy", "of the policy, in a gradient", false, loss(&TimelineUpdate::Losses::entropy)}};
}

monitor::Extent VersionsOf(const std::vector<TimelineUpdate>& updates) {
  monitor::Extent versions;
  versions.Add(static_cast<double>(updates.front().version()));
  versions.Add(static_cast<double>(updates.back().version()));
  return versions;
}

// The rows of the actors: at most kMaxRows, so that neighbours may share one ("0–3").
struct Rows {
  std::vector<std::string> names{};
  std::map<std::uint32_t, std::size_t> of{};  // by slot
};
Rows RowsOf(const std::vector<TimelineUpdate>& updates) {
  std::set<std::uint32_t> slots;
  for (const TimelineUpdate& update : updates) {
    for (const Gradient& gradient : update.details.gradients) slots.insert(gradient.from.slot);
  }
  const std::vector<std::uint32_t> sorted(slots.begin(), slots.end());
  const std::size_t together = (sorted.size() + kMaxRows - 1) / kMaxRows;
  Rows rows;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    rows.of[sorted[i]] = i / together;
    if (i % together != 0) continue;
    const std::uint32_t last = sorted[std::min(i + together, sorted.size()) - 1];
    rows.names.push_back(sorted[i] == last ? fmt::format("{}", last)
                                           : fmt::format("{}–{}", sorted[i], last));
  }
  return rows;
}

// Buttons for the updates with the largest values; "" if there are none.
std::string Largest(const std::vector<TimelineUpdate>& updates, const Measured& measured) {
  std::vector<std::pair<double, std::uint64_t>> found;
  for (const TimelineUpdate& update : updates) {
    double largest = -INFINITY;
    measured.values(update, [&](double value) { largest = std::max(largest, value); });
    if (std::isfinite(largest)) found.emplace_back(-largest, update.version());
  }
  if (found.empty()) return "";
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(kRemarkable, found.size()));
  std::partial_sort(found.begin(), end, found.end());
  std::string buttons;
  for (auto one = found.begin(); one != end; ++one) {
    buttons += fmt::format(" <button type=\"button\" data-version=\"{}\">{}: {:.4g}</button>",
                           one->second, one->second, -one->first);
  }
  return fmt::format("<p>Largest {}:{}</p>\n", measured.name, buttons);
}

}  // namespace

std::string DrawCurves(const std::vector<TimelineUpdate>& updates) {
  std::string html;
  std::size_t style = 0;
  for (const Measured& measured : AllMeasured()) {
    monitor::GroupCurve curve = Binned(updates, measured.values);
    if (curve.middle.empty()) continue;
    monitor::Plot plot{.x_label = "version", .y_label = measured.name, .part = true};
    plot.shown.x = VersionsOf(updates);
    plot.curves.push_back({.style = style, .samples = curve.middle, .title = measured.name});
    plot.bands.push_back({.style = style, .curve = std::move(curve)});
    ++style;
    html +=
        monitor::Figure(fmt::format("<b>{}</b> {}", measured.name, measured.of), DrawPlot(plot));
  }
  return html;
}

std::string DrawWho(const std::vector<TimelineUpdate>& updates) {
  // 1. A row for each actor, and a column for a few versions.
  const Rows rows = RowsOf(updates);
  const std::uint64_t first = updates.front().version(), last = updates.back().version();
  const std::uint64_t versions = last - first + 1;
  const std::uint64_t columns = std::min<std::uint64_t>(kBins, versions);
  monitor::Strips strips{.x_label = "version", .y_label = "actor", .rows = rows.names};
  strips.x.Add(static_cast<double>(first) - 0.5);
  strips.x.Add(static_cast<double>(last) + 0.5);
  strips.shares.assign(rows.names.size(), std::vector<double>(columns));
  // 2. Their gradients in each, against the most of any.
  double most = 1;
  for (const TimelineUpdate& update : updates) {
    const std::uint64_t column = (update.version() - first) * columns / versions;
    for (const Gradient& gradient : update.details.gradients) {
      most = std::max(most, ++strips.shares[rows.of.at(gradient.from.slot)][column]);
    }
  }
  for (std::vector<double>& row : strips.shares) {
    for (double& share : row) share /= most;
  }
  return monitor::Figure(
      "<b>who</b> the stronger, the more gradients of the actor are in the updates",
      DrawStrips(strips));
}

std::string LargestOf(const std::vector<TimelineUpdate>& updates) {
  std::string html;
  for (const Measured& measured : AllMeasured()) {
    if (measured.stands_out) html += Largest(updates, measured);
  }
  return html;
}

}  // namespace starling::replay
