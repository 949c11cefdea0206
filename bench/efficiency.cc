// Measures how well many actors share one learner where the cores are not the limit: real runs of
// configs/paced.toml, whose envs take a fixed time a step, over ipc and tcp, with and without
// jitter, at three bounds.
#include "bench/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/training_run.h"
#include "core/check.h"
#include "core/config/config.h"
#include "core/text.h"
#include "tools/report/plot.h"
#include "tools/report/style.h"

namespace starling::bench {
namespace {

constexpr double kJitter = 0.2;
constexpr const char* kConfig = "paced.toml";

struct Extent {
  std::vector<int> actors;
  double seconds;  // duration of a run in which only the envs take time
  int repeats;     // of the reference runs
};

std::string BoundName(std::uint64_t bound) {
  return bound == kUnbounded ? "unbounded" : fmt::format("bound {}", bound);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

PacedPoint Run(const Site& site, double step_ms, const PacedWay& way, int actors, double seconds,
               const std::vector<std::string>& more = {}) {
  const bool bounded = way.bound > 0 && way.bound != kUnbounded;
  TrainingPlan plan{
      .name = fmt::format("efficiency-{}-{}-{}-{}", actors, way.wire, BoundText(way.bound),
                          way.jitter > 0 ? "jitter" : "even"),
      .overrides = {Set("actors.count", actors), Set("env.step_jitter", way.jitter),
                    Set("staleness.bound", BoundText(way.bound)),
                    Set("updates.in_flight", bounded ? "2" : "auto"),
                    Set("wire.endpoint", way.wire == "tcp" ? "tcp://127.0.0.1:0" : "auto"),
                    // So many steps that the envs alone take `seconds`.
                    fmt::format("run.steps={:.0f}", seconds * actors * 1000 / step_ms)},
      .timeout_s = 120,
      .config = site.shipped / kConfig};
  plan.overrides.insert(plan.overrides.end(), more.begin(), more.end());
  const TrainingRun run(site, plan);
  return {.way = way, .actors = actors, .rate = run.SteadyRate(), .numbers = run.Numbers()};
}

PacedRuns MeasureAll(const Site& site, double step_ms, const Extent& extent) {
  PacedRuns runs{.step_ms = step_ms};
  const auto measure = [&](const PacedWay& way, int actors) {
    // One actor, unbounded and without jitter, is the reference: the run with the median speed.
    const bool reference = actors == 1 && way.bound == kUnbounded && way.jitter == 0;
    std::vector<PacedPoint> points;
    for (int i = 0; i < (reference ? extent.repeats : 1); ++i) {
      points.push_back(Run(site, step_ms, way, actors, extent.seconds));
    }
    std::ranges::sort(points, {}, &PacedPoint::rate);
    runs.points.push_back(points[points.size() / 2]);
  };
  for (const char* wire : {"ipc", "tcp"}) {
    for (const double jitter : {0.0, kJitter}) {
      for (const std::uint64_t bound : {kUnbounded, std::uint64_t{4}, std::uint64_t{0}}) {
        for (const int actors : extent.actors) measure({wire, jitter, bound}, actors);
      }
    }
  }
  return runs;
}

// Other settings at a bound of 4, over ipc with jitter. They are shown, not judged.
std::string OtherChoices(const Site& site, const PacedRuns& runs, const Extent& extent) {
  const int actors = extent.actors.back();
  std::string text =
      fmt::format("\nOther choices at a bound of 4, {} actors over ipc with jitter:\n\n", actors) +
      Head({"updates.gradients", "updates.in_flight", "steps/s", "efficiency", "mean staleness"});
  const std::pair<const char*, const char*> choices[] = {
      {"1", "1"}, {"auto", "1"}, {"auto", "2"}, {"8", "1"}};
  for (const auto& [gradients, in_flight] : choices) {
    const PacedPoint point =
        Run(site, runs.step_ms, {"ipc", kJitter, 4}, actors, extent.seconds,
            {Set("updates.gradients", gradients), Set("updates.in_flight", in_flight)});
    text += Line({gradients, in_flight, Rounded(point.rate), Percent(Efficiency(runs, point)),
                  fmt::format("{:.1f}", point.numbers["mean_staleness"].get<double>())});
  }
  return text;
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
      const auto point = std::ranges::find_if(runs.points, [&](const PacedPoint& one) {
        return one.way == way && one.actors == actors;
      });
      cells.push_back(point == runs.points.end() ? ""
                                                 : fmt::format("{}, {}", Rounded(point->rate),
                                                               Percent(Efficiency(runs, *point))));
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
  report::Plot plot{.x_label = fmt::format("actors at {} ms a step ± {:.0f} % an unroll",
                                           runs.step_ms, 100 * jitter),
                    .y_label = "steps per second",
                    .from_zero = true};
  plot.curves = {{.style = kIdealStyle,
                  .samples = {{0, 0}, {most, most * IdealRate(runs)}},
                  .title = "ideal: no time but the envs'"}};
  for (std::size_t dashes = 0; const char* wire : {"ipc", "tcp"}) {
    for (std::size_t style = 0;
         const std::uint64_t bound : {kUnbounded, std::uint64_t{4}, std::uint64_t{0}}) {
      report::Curve& curve = plot.curves.emplace_back(
          report::Curve{.style = style++ + report::kColors * dashes,
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
  for (int y = 24; const report::Curve& curve : plot.curves) {
    legend += fmt::format(
        "<path d=\"M70 {0}h26\" class=\"line {1}\"/><text x=\"102\" y=\"{2}\">{3}</text>\n", y,
        report::GroupClass(curve.style), y + 4, curve.title);
    y += 18;
  }
  // 3. A file of its own, in the style of reports.
  const std::string svg = report::DrawPlot(plot);
  constexpr std::string_view kOpening = "<svg ", kEnd = "</svg>";
  CHECK(svg.starts_with(kOpening) && svg.find(kEnd) != std::string::npos);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" {}<style>{}svg {{ width: 840px; background: "
      "var(--page); }}</style>\n{}</svg>\n",
      svg.substr(kOpening.size(), svg.rfind(kEnd) - kOpening.size()), report::kReportStyle, legend);
}

Result MeasureEfficiency(const Site& site) {
  const Extent extent = site.quick ? Extent{{1, 8}, 0.4, 1} : Extent{{1, 2, 4, 8, 16, 32}, 8, 3};
  const PacedRuns runs = MeasureAll(site, LoadConfig(site.shipped / kConfig).env.step_ms, extent);
  Result result{.rows = EfficiencyRows(runs, !site.quick),
                .details = EfficiencyTable(runs),
                .json = EfficiencyJson(runs),
                .picture = DrawEfficiency(runs)};
  if (!site.quick) result.details += OtherChoices(site, runs, extent);
  return result;
}

}  // namespace starling::bench
