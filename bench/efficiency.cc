// Measures how well many actors share one learner where the cores are not the limit: real runs of
// configs/paced.toml, whose envs take a fixed time a step, over ipc and tcp, with and without
// jitter, at three bounds.
#include "bench/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/check.h"
#include "core/config/config.h"
#include "core/text.h"
#include "monitor/svg/plot.h"
#include "monitor/svg/style.h"

namespace starling::bench {
namespace {

std::string BoundName(std::uint64_t bound) {
  return bound == kUnbounded ? "unbounded" : fmt::format("bound {}", bound);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Runs a grid, whose envs alone take eight seconds.
void Run(const Site& site, const char* file,
         const std::function<void(const Config&, const PacedPoint&)>& use) {
  ForEachRun(site, {.file = file, .quick_steps = 200, .steps_per_actor = true},
             [&](const Config& config, const TrainingRun& run) {
               use(config, {.way = {.wire = config.wire.endpoint == "auto" ? "ipc" : "tcp",
                                    .jitter = config.env.step_jitter,
                                    .bound = config.staleness.bound},
                            .actors = static_cast<int>(config.actors.count),
                            .rate = run.SteadyRate(),
                            .numbers = run.Numbers()});
             });
}

// Other settings at a bound of 4, over ipc with jitter. They are shown, not judged.
std::string OtherChoices(const Site& site, const PacedRuns& runs) {
  std::string text =
      "\nOther choices at a bound of 4, 32 actors over ipc with jitter:\n\n" +
      Head({"updates.gradients", "updates.in_flight", "steps/s", "efficiency", "mean staleness"});
  Run(site, "efficiency-choices.toml", [&](const Config& config, const PacedPoint& point) {
    text += Line({fmt::format("{}", config.updates.gradients),
                  fmt::format("{}", config.updates.in_flight), Rounded(point.rate),
                  Percent(Efficiency(runs, point)),
                  fmt::format("{:.1f}", point.numbers["mean_staleness"].get<double>())});
  });
  return text;
}

}  // namespace

double IdealRate(const PacedRuns& runs) { return 1000 / runs.step_ms; }

double RateOfOne(const PacedRuns& runs, const std::string& wire) {
  const PacedWay way{wire, 0, kUnbounded};
  std::vector<double> rates;
  for (const PacedPoint& point : runs.points) {
    if (point.actors == 1 && point.way == way) rates.push_back(point.rate);
  }
  CHECK(!rates.empty() && Median(rates) > 0, "one actor over {} was not measured", wire);
  return Median(rates);
}

double Efficiency(const PacedRuns& runs, const PacedPoint& point) {
  return point.rate / (point.actors * RateOfOne(runs, point.way.wire));
}

double ShareOfIdeal(const PacedRuns& runs, const PacedPoint& point) {
  return point.rate / (point.actors * IdealRate(runs));
}

std::vector<Row> EfficiencyRows(const PacedRuns& runs, bool judged) {
  const struct {
    const char* how;
    std::uint64_t bound;
    double least_jitter, wanted;
  } kinds[] = {{"unbounded", kUnbounded, 0, 0.90},
               {"staleness bound 4", 4, 1e-9, 0.75},
               {"staleness bound 0", 0, 1e-9, 0}};
  const int most = std::ranges::max(runs.points, {}, &PacedPoint::actors).actors;
  std::vector<Row> rows;
  for (const auto& [how, bound, least_jitter, wanted] : kinds) {
    // A row holds if the smallest efficiency of its points does.
    double least = 1;
    std::vector<std::string> measured;
    for (const PacedPoint& point : runs.points) {
      const auto& [wire, jitter, its_bound] = point.way;
      if (point.actors != most || its_bound != bound || jitter < least_jitter) continue;
      const double efficiency = Efficiency(runs, point);
      least = std::min(least, efficiency);
      measured.push_back(fmt::format("{}{} {} ({} of the ideal)", wire,
                                     jitter > 0 ? " with jitter" : "", Percent(efficiency),
                                     Percent(ShareOfIdeal(runs, point))));
    }
    Row& row =
        rows.emplace_back(Row{.what = fmt::format("Scaling efficiency, {} actors, {} ms a step, {}",
                                                  most, runs.step_ms, how),
                              .measured = fmt::format("{}", fmt::join(measured, ", "))});
    if (wanted == 0) continue;
    row.wanted = fmt::format("each ≥ {} of {} × the rate of one actor", Percent(wanted), most);
    if (judged) row.holds = least >= wanted;
  }
  return rows;
}

std::string EfficiencyTable(const PacedRuns& runs) {
  // 1. Collect the columns (numbers of actors) and the lines (ways).
  std::set<int> counts;
  std::vector<PacedWay> ways;
  for (const PacedPoint& point : runs.points) {
    counts.insert(point.actors);
    if (std::ranges::count(ways, point.way) == 0) ways.push_back(point.way);
  }
  std::vector<std::string> head = {"wire", "jitter", "staleness"};
  for (const int actors : counts) {
    head.push_back(Plural(static_cast<std::size_t>(actors), "actor"));
  }
  // 2. Write the lines; a pair that was not measured has an empty cell.
  std::string text = fmt::format(
      "Steps per second at {} ms a step, and how much of so many times one actor that is:\n\n{}",
      runs.step_ms, Head(head));
  for (const PacedWay& way : ways) {
    const std::string jitter = fmt::format("± {:.0f} %", 100 * way.jitter);
    std::vector<std::string> cells = {way.wire, way.jitter == 0 ? "none" : jitter,
                                      BoundName(way.bound)};
    for (const int actors : counts) {
      std::vector<double> rates;  // more than one for one actor
      for (const PacedPoint& point : runs.points) {
        if (point.way == way && point.actors == actors) rates.push_back(point.rate);
      }
      if (rates.empty()) {
        cells.push_back("");
        continue;
      }
      const PacedPoint middle{.way = way, .actors = actors, .rate = Median(rates)};
      cells.push_back(
          fmt::format("{}, {}", Rounded(middle.rate), Percent(Efficiency(runs, middle))));
    }
    text += Line(cells);
  }
  return text;
}

Json EfficiencyJson(const PacedRuns& runs) {
  Json json{{"step_ms", runs.step_ms}, {"ideal_rate_of_one", IdealRate(runs)}};
  for (const PacedPoint& point : runs.points) {
    const auto& [wire, jitter, bound] = point.way;
    Json run{{"wire", wire},
             {"jitter", jitter},
             {"bound", bound == kUnbounded ? Json("unbounded") : Json(bound)},
             {"actors", point.actors}};
    run.update(point.numbers);
    run.update({{"steps_per_second", point.rate},
                {"efficiency", Efficiency(runs, point)},
                {"share_of_ideal", ShareOfIdeal(runs, point)}});
    json["runs"].push_back(std::move(run));
  }
  return json;
}

std::string DrawEfficiency(const PacedRuns& runs) {
  constexpr std::size_t kIdealStyle = 5;  // grey
  // 1. The ideal line, and a curve for each bound and wire: colours for bounds, dashes for tcp.
  const double most = std::ranges::max(runs.points, {}, &PacedPoint::actors).actors;
  const double jitter = std::ranges::max(runs.points, {}, [](const auto& point) {
                          return point.way.jitter;
                        }).way.jitter;
  monitor::Plot plot{.x_label = fmt::format("actors at {} ms a step ± {:.0f} % an unroll",
                                            runs.step_ms, 100 * jitter),
                     .y_label = "steps per second",
                     .from_zero = true};
  plot.curves = {{.style = kIdealStyle,
                  .samples = {{0, 0}, {most, most * IdealRate(runs)}},
                  .title = "ideal: no time but the envs'"}};
  for (std::size_t dashes = 0; const char* wire : {"ipc", "tcp"}) {
    for (std::size_t style = 0;
         const std::uint64_t bound : {kUnbounded, std::uint64_t{4}, std::uint64_t{0}}) {
      monitor::Curve& curve = plot.curves.emplace_back(
          monitor::Curve{.style = style++ + monitor::kColors * dashes,
                         .samples = {},
                         .title = fmt::format("{}, {}", wire, BoundName(bound)),
                         .dots = true});
      for (const PacedPoint& point : runs.points) {
        if (point.way != PacedWay{wire, jitter, bound}) continue;
        curve.samples.push_back({static_cast<double>(point.actors), point.rate});
      }
    }
    ++dashes;
  }
  // 2. The legend, where a drawing of growing rates is empty.
  std::string legend;
  for (int y = 24; const monitor::Curve& curve : plot.curves) {
    legend += fmt::format(
        "<path d=\"M70 {0}h26\" class=\"line {1}\"/><text x=\"102\" y=\"{2}\">{3}</text>\n", y,
        monitor::GroupClass(curve.style), y + 4, curve.title);
    y += 18;
  }
  // 3. A file of its own, in the style of reports.
  const std::string svg = monitor::DrawPlot(plot);
  constexpr std::string_view kOpening = "<svg ", kEnd = "</svg>";
  CHECK(svg.starts_with(kOpening) && svg.find(kEnd) != std::string::npos);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" {}<style>{}svg {{ width: 840px; background: "
      "var(--page); }}</style>\n{}</svg>\n",
      svg.substr(kOpening.size(), svg.rfind(kEnd) - kOpening.size()), monitor::kPageStyle, legend);
}

Result MeasureEfficiency(const Site& site) {
  PacedRuns runs;
  for (const char* file :
       {"efficiency.toml", "efficiency-bound-4.toml", "efficiency-reference.toml"}) {
    Run(site, file, [&](const Config& config, const PacedPoint& point) {
      runs.step_ms = config.env.step_ms;
      runs.points.push_back(point);
    });
  }
  std::ranges::stable_sort(runs.points, {}, &PacedPoint::way);
  Result result{.rows = EfficiencyRows(runs, !site.quick),
                .details = EfficiencyTable(runs),
                .json = EfficiencyJson(runs),
                .picture = DrawEfficiency(runs)};
  if (!site.quick) result.details += OtherChoices(site, runs);
  return result;
}

}  // namespace starling::bench
