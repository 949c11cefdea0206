// Shows the time of each process by activity and the bottleneck of a run, both from its summary.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/file.h"

namespace starling::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTimedActors = 2;

struct TimedShape {
  int envs;
  std::uint64_t steps, quick_steps;
  std::string Name() const { return fmt::format("{}x{}x5", kTimedActors, envs); }
};
constexpr TimedShape kTimedShapes[] = {{64, 500'000, 30'000}, {1, 60'000, 4'000}};

// A row of the table: whose time, its key in the summary, its description.
struct Activity {
  const char *whose, *key, *what;
};
constexpr Activity kActivities[] = {
    {"actors", "wait", "an actor: waiting for a grant"},
    {"actors", "refresh", "an actor: fetching the newest weights"},
    {"actors", "act", "an actor: acting (env steps, forward)"},
    {"actors", "gradient", "an actor: gradient (loss, backward, clipping)"},
    {"actors", "push", "an actor: pushing the gradient"},
    {"learner", "receive", "the learner's network thread: receiving, decoding, checking"},
    {"learner", "dispatch", "… judging, dispatching, answering"},
    {"learner", "idle", "… idle"},
    {"learner", "lanes", "a lane of the learner: applying and publishing"},
};

Json Measure(const Site& site, const TimedShape& shape) {
  const TrainingRun run(
      site,
      {.name = "time-" + shape.Name(),
       .overrides = {fmt::format("actors.count={}", kTimedActors), "actors.unroll=5",
                     fmt::format("actors.envs_per_actor={}", shape.envs),
                     fmt::format("run.steps={}", site.quick ? shape.quick_steps : shape.steps)}});
  const Json summary = Json::parse(ReadFile(run.dir() / "summary.json"));
  return {{"time", summary.at("time")}, {"bottleneck", summary.at("bottleneck")}};
}

}  // namespace

Result MeasureTime(const Site& site) {
  // 1. Run each shape: a row for its bottleneck, a column of the table.
  Result result;
  Json json;
  std::string head = "% of the time that passes |", line = "|---|";
  for (const TimedShape& shape : kTimedShapes) {
    const Json& run = json[shape.Name()] = Measure(site, shape);
    result.rows.push_back({.what = fmt::format("The bottleneck, {} actors × {} env{} × 5 steps",
                                               kTimedActors, shape.envs, shape.envs > 1 ? "s" : ""),
                           .measured = run["bottleneck"].get<std::string>()});
    head += fmt::format(" {} |", shape.Name());
    line += "---|";
  }
  // 2. Write the table, a line for each activity.
  result.details = fmt::format("| {}\n{}\n", head, line);
  for (const Activity& activity : kActivities) {
    result.details += fmt::format("| {} |", activity.what);
    for (const auto& [name, run] : json.items()) {
      const double share = run["time"][activity.whose][activity.key].get<double>();
      result.details += fmt::format(" {:.1f} |", 100 * share);
    }
    result.details += "\n";
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
