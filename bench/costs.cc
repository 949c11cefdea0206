// Measures the costs of a run: the time of each process by activity and the bottleneck, both from
// the summary; the time from the command to the first applied update; and the peak memory of
// learner and actors.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/child.h"
#include "core/config/config.h"
#include "core/text.h"
#include "learner/apply/optimizer.h"
#include "results/trained.h"

namespace starling::bench {
namespace {

constexpr int kCostActors = 2;

// A row of the table: whose time, its key in the summary, its description.
struct Activity {
  const char *whose, *key, *what;
};
constexpr Activity kActivities[] = {
    {"actors", "wait", "an actor: waiting for a grant"},
    {"actors", "refresh", "an actor: fetching the newest weights"},
    {"actors", "act", "an actor: acting (env steps, forward)"},
    {"actors", "act_wait", "an actor: waiting for envs elsewhere"},
    {"actors", "gradient", "an actor: gradient (loss, backward, clipping)"},
    {"actors", "push", "an actor: pushing the gradient"},
    {"learner", "receive", "the learner's network thread: receiving, decoding, checking"},
    {"learner", "dispatch", "… judging, dispatching, answering"},
    {"learner", "idle", "… idle"},
    {"learner", "lanes", "a lane of the learner: applying and publishing"},
};

// The run ends at its first update, whose checkpoint is written at once, so that the file's time is
// at most some milliseconds later.
double SecondsToCheckpoint(const TrainingRun& run) {
  struct stat status {};
  const std::string path = run.FinalCheckpoint().string();
  if (run.status.updates != 1 || ::stat(path.c_str(), &status) != 0) {
    throw std::runtime_error(
        fmt::format("{}: {} updates, or no checkpoint", path, run.status.updates));
  }
  const std::int64_t written =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return static_cast<double>(written - run.started_ns) / 1e9;
}

// Keeps the largest peak of each kind of process that our child, the supervisor, has started.
class PeakWatch {
 public:
  void Check() {
    for (const int supervisor : ChildrenOf(::getpid())) {
      for (const int pid : ChildrenOf(supervisor)) Add(pid);
    }
  }
  double Mb(const std::string& kind) const {
    const auto peak = peaks_.find(kind);
    if (peak == peaks_.end()) throw std::runtime_error("no " + kind + " was seen in /proc");
    return peak->second;
  }

 private:
  void Add(int pid) {
    // The kernel cuts the name after 15 characters, which is still different for the two kinds.
    std::string name;
    std::ifstream(fmt::format("/proc/{}/comm", pid)) >> name;
    const auto peak = PeakMb(pid);
    if (!name.starts_with("starling-") || !peak) return;
    double& mb = peaks_[name.starts_with("starling-a") ? "actor" : "learner"];
    mb = std::max(mb, *peak);
  }

  std::map<std::string, double> peaks_;
};

}  // namespace

Result MeasureTime(const Site& site) {
  const struct {
    std::size_t envs;
    std::uint64_t steps, quick_steps;
  } shapes[] = {{64, 500'000, 30'000}, {1, 60'000, 4'000}};
  // 1. Run each shape: a row for its bottleneck, a column of the table.
  Result result;
  std::vector<std::string> head = {"% of the time that passes"};
  for (const auto& [envs, steps, quick_steps] : shapes) {
    const std::string name = fmt::format("{}x{}x5", kCostActors, envs);
    const TrainingRun run(site,
                          {.name = "time-" + name,
                           .overrides = {Set("actors.count", kCostActors), "actors.unroll=5",
                                         Set("actors.envs_per_actor", envs),
                                         Set("run.steps", site.quick ? quick_steps : steps)}});
    result.json[name] = {{"time", run.summary.at("time")},
                         {"bottleneck", run.summary.at("bottleneck")}};
    result.rows.push_back({.what = fmt::format("The bottleneck, {} actors × {} × 5 steps",
                                               kCostActors, Plural(envs, "env")),
                           .measured = run.summary["bottleneck"].get<std::string>()});
    head.push_back(name);
  }
  // 2. Write the table, a line for each activity.
  result.details = Head(head);
  for (const auto& [whose, key, what] : kActivities) {
    std::vector<std::string> cells = {what};
    for (const Json& run : result.json) {
      cells.push_back(fmt::format("{:.1f}", 100 * run["time"][whose][key].get<double>()));
    }
    result.details += Line(cells);
  }
  return result;
}

Result MeasureStartup(const Site& site) {
  constexpr double kWanted = 2;
  const int repeats = site.quick ? 3 : 9;
  std::vector<double> first_update, whole;
  for (int i = 0; i < repeats; ++i) {
    const TrainingRun run(site,
                          {.name = fmt::format("startup-{}", i + 1), .overrides = {"run.steps=1"}});
    first_update.push_back(SecondsToCheckpoint(run));
    whole.push_back(run.seconds);
  }
  const double worst = Most(first_update);
  return {.rows = {{.what = "From the command to the first applied update",
                    .measured = fmt::format("{:.2f} s (worst of {}: {:.2f} s)",
                                            Median(first_update), repeats, worst),
                    .wanted = fmt::format("≤ {} s", kWanted),
                    .holds = worst <= kWanted},
                   {.what = "… to the end of that run, with its final checkpoint and summary",
                    .measured = fmt::format("{:.2f} s", Median(whole))}},
          .json = {{"first_update_s", first_update}, {"whole_run_s", whole}}};
}

Result MeasureMemory(const Site& site) {
  constexpr double kActorLimitMb = 150;
  // 1. The learner's limit.
  const Config config = LoadConfig(site.config, {Set("actors.count", kCostActors)});
  const std::size_t floats = results::LayoutOf(config).size();
  const double vector_mb = 4.0 * static_cast<double>(floats) / 1e6;
  const LearnerVectors vectors = LearnerVectorsOf(config);
  const double gradients_mb = vector_mb * vectors.gradients;
  const double limit_mb = vector_mb * vectors.state + kLearnerRoomMb + gradients_mb;
  // 2. Read the peaks a hundred times a second during a run.
  PeakWatch peaks;
  const TrainingRun run(
      site, {.name = "memory",
             .overrides = {Set("actors.count", kCostActors), "checkpoint.every_steps=50_000",
                           Set("run.steps", site.quick ? 60'000 : 600'000)},
             .watch = [&] { peaks.Check(); }});
  const double actor_mb = peaks.Mb("actor"), learner_mb = peaks.Mb("learner");
  return {.rows = {{.what = "Peak memory of an actor",
                    .measured = fmt::format("{:.0f} MB", actor_mb),
                    .wanted = fmt::format("≤ {} MB", kActorLimitMb),
                    .holds = actor_mb <= kActorLimitMb},
                   {.what = fmt::format("Peak memory of the learner, {} actors", kCostActors),
                    .measured = fmt::format("{:.0f} MB", learner_mb),
                    .wanted = fmt::format(
                        "≤ {:.0f} MB: 4 bytes × {} × {} (snapshots, weights, "
                        "optimizer) + {} MB + {:.0f} MB of gradients and checkpoints",
                        limit_mb, Grouped(floats), vectors.state, kLearnerRoomMb, gradients_mb),
                    .holds = learner_mb <= limit_mb}},
          .json = {{"actor_mb", actor_mb},
                   {"actor_limit_mb", kActorLimitMb},
                   {"learner_mb", learner_mb},
                   {"learner_limit_mb", limit_mb},
                   {"gradients_mb", gradients_mb}}};
}

}  // namespace starling::bench
