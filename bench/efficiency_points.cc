#include "bench/efficiency_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/config/config.h"
#include "core/text.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr double kWantedUnbounded = 0.90, kWantedAtFour = 0.75;

std::string BoundName(std::uint64_t bound) {
  return bound == kUnbounded ? "unbounded" : fmt::format("bound {}", bound);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string JitterName(double jitter) {
  return jitter == 0 ? "none" : fmt::format("± {:.0f} %", 100 * jitter);
}

int MostActors(const PacedRuns& runs) {
  return std::ranges::max(runs.points, {}, &PacedPoint::actors).actors;
}

// A row over the points for which `belongs` is true. It holds if the smallest efficiency does.
template <class Belongs>
Row RowOf(const PacedRuns& runs, const std::string& how, double wanted, bool judged,
          Belongs belongs) {
  const int most = MostActors(runs);
  Row row{.what = fmt::format("Scaling efficiency, {} actors, {} ms a step, {}", most, runs.step_ms,
                              how)};
  double least = 1;
  for (const PacedPoint& point : runs.points) {
    if (point.actors != most || !belongs(point.way)) continue;
    const double efficiency = Efficiency(runs, point);
    least = std::min(least, efficiency);
    row.measured += fmt::format("{}{}{} {} ({} of the ideal)", row.measured.empty() ? "" : ", ",
                                point.way.wire, point.way.jitter > 0 ? " with jitter" : "",
                                Percent(efficiency), Percent(ShareOfIdeal(runs, point)));
  }
  if (wanted > 0) {
    row.wanted = fmt::format("each ≥ {} of {} × the rate of one actor", Percent(wanted), most);
    if (judged) row.holds = least >= wanted;
  }
  return row;
}

}  // namespace

double IdealRate(const PacedRuns& runs) { return 1000 / runs.step_ms; }

double RateOfOne(const PacedRuns& runs, const std::string& wire) {
  const PacedWay way{wire, 0, kUnbounded};
  const auto one = std::ranges::find_if(
      runs.points, [&](const PacedPoint& point) { return point.actors == 1 && point.way == way; });
  CHECK(one != runs.points.end() && one->rate > 0, "one actor over {} was not measured", wire);
  return one->rate;
}

double Efficiency(const PacedRuns& runs, const PacedPoint& point) {
  return point.rate / (point.actors * RateOfOne(runs, point.way.wire));
}

double ShareOfIdeal(const PacedRuns& runs, const PacedPoint& point) {
  return point.rate / (point.actors * IdealRate(runs));
}

std::vector<PacedPoint> PointsOf(const PacedRuns& runs, const PacedWay& way) {
  std::vector<PacedPoint> points;
  std::ranges::copy_if(runs.points, std::back_inserter(points),
                       [&](const PacedPoint& point) { return point.way == way; });
  std::ranges::sort(points, {}, &PacedPoint::actors);
  return points;
}

std::vector<Row> EfficiencyRows(const PacedRuns& runs, bool judged) {
  return {
      RowOf(runs, "unbounded", kWantedUnbounded, judged,
            [](const PacedWay& way) { return way.bound == kUnbounded; }),
      RowOf(runs, "staleness bound 4", kWantedAtFour, judged,
            [](const PacedWay& way) { return way.bound == 4 && way.jitter > 0; }),
      RowOf(runs, "staleness bound 0", 0, judged,
            [](const PacedWay& way) { return way.bound == 0 && way.jitter > 0; }),
  };
}

std::string EfficiencyTable(const PacedRuns& runs) {
  // 1. Collect the columns (numbers of actors) and the lines (ways).
  std::vector<int> counts;
  std::vector<PacedWay> ways;
  for (const PacedPoint& point : runs.points) {
    if (std::ranges::count(counts, point.actors) == 0) counts.push_back(point.actors);
    if (std::ranges::count(ways, point.way) == 0) ways.push_back(point.way);
  }
  std::ranges::sort(counts);
  // 2. Write the head.
  std::string text = fmt::format(
      "Steps per second at {} ms a step, and how much of so many times one actor that is:\n\n"
      "| wire | jitter | staleness |",
      runs.step_ms);
  std::string line = "|---|---|---|";
  for (const int actors : counts) {
    text += fmt::format(" {} actor{} |", actors, actors > 1 ? "s" : "");
    line += "---|";
  }
  text += "\n" + line + "\n";
  // 3. Write the lines; a pair that was not measured has an empty cell.
  for (const PacedWay& way : ways) {
    text += fmt::format("| {} | {} | {} |", way.wire, JitterName(way.jitter), BoundName(way.bound));
    for (const int actors : counts) {
      const auto point = std::ranges::find_if(runs.points, [&](const PacedPoint& one) {
        return one.way == way && one.actors == actors;
      });
      text += point == runs.points.end() ? "  |"
                                         : fmt::format(" {}, {} |", Rounded(point->rate),
                                                       Percent(Efficiency(runs, *point)));
    }
    text += "\n";
  }
  return text;
}

std::string EfficiencyJson(const PacedRuns& runs) {
  nlohmann::ordered_json json{{"step_ms", runs.step_ms}, {"ideal_rate_of_one", IdealRate(runs)}};
  json["runs"] = nlohmann::ordered_json::array();
  for (const PacedPoint& point : runs.points) {
    const auto& [wire, jitter, bound] = point.way;
    nlohmann::ordered_json run{{"wire", wire}, {"jitter", jitter}};
    if (bound == kUnbounded) {
      run["bound"] = "unbounded";
    } else {
      run["bound"] = bound;
    }
    run["actors"] = point.actors;
    run["steps_per_second"] = point.rate;
    run["efficiency"] = Efficiency(runs, point);
    run["share_of_ideal"] = ShareOfIdeal(runs, point);
    run["updates"] = point.updates;
    run["mean_staleness"] = point.mean_staleness;
    run["max_staleness"] = point.max_staleness;
    run["cpu_ms_per_gradient"] = point.cpu_ms;
    json["runs"].push_back(std::move(run));
  }
  return json.dump();
}

}  // namespace starling::bench
