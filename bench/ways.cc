// Measures the ways to train one net on several cores, side by side: a learner without a bound and
// with bound 0, its shards, ranks without a learner, stages.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/text.h"
#include "results/initial_net.h"
#include "results/run_record.h"
#include "tools/report/groups.h"

namespace starling::bench {
namespace {

using Strings = std::vector<std::string>;

struct TrainingWay {
  const char* name;
  Strings settings;
  bool mpi = false;
  bool staged = false;
};

std::vector<TrainingWay> WaysToTrain(const Site& site) {
  const std::string sync = "staleness.bound=0";
  std::vector<TrainingWay> ways = {
      {.name = "a learner, unbounded", .settings = {"staleness.bound=\"unbounded\""}},
      {.name = "a learner, bound 0", .settings = {sync}},
      {.name = "two shards, bound 0", .settings = {sync, "learner.shards=2"}},
      {.name = "no learner", .settings = {sync, "updates.exchange=\"allreduce\""}, .mpi = true},
      {.name = "two stages",
       .settings = {"staleness.bound=\"unbounded\"", "net.stages=2", "actors.groups=2"},
       .staged = true}};
  if (!HasRanks(site)) {
    std::erase_if(ways, [](const TrainingWay& way) { return way.mpi; });
  }
  return ways;
}

constexpr double kScore = 10;
constexpr int kWaysSeeds = 3;
constexpr int kActorsOverTcp = 4;

// The runs of one way.
struct WayRuns {
  std::vector<double> rates, waits, exchanges, staleness;
  std::uint64_t oldest = 0;
  std::list<results::LoadedRun> runs;

  void Add(const TrainingRun& run) {
    const Json& time = run.summary.at("time").at("actors");
    const auto share = [&](const char* name) { return time.at(name).get<double>(); };
    rates.push_back(run.SteadyRate());
    waits.push_back(share("wait"));
    exchanges.push_back(share("refresh") + share("push"));
    staleness.push_back(run.status.staleness.mean);
    oldest = std::max(oldest, run.status.staleness.max);
    runs.push_back(results::LoadRun(run.dir()));
  }
  report::GroupToScore ToScore() const {
    std::vector<const results::LoadedRun*> all;
    for (const results::LoadedRun& run : runs) all.push_back(&run);
    return report::TimeTo(kScore, all);
  }
};

// ---- 1. speed, waiting, staleness, time to the score

struct WaysFleet {
  std::string config;  // of the shipped ones
  int actors = 0, staged_actors = 0;
  std::uint64_t steps = 0;
  Strings settings{};
};

void MeasureWay(const Site& site, const WaysFleet& fleet, const TrainingWay& way, int seed,
                WayRuns& trained, Json& json) {
  TrainingPlan plan{
      .name = fmt::format("ways, {}, {}, seed {}", fleet.config, way.name, seed),
      .overrides = {Set("actors.count", way.staged ? fleet.staged_actors : fleet.actors),
                    Set("run.steps", site.quick ? fleet.steps / 40 : fleet.steps),
                    Set("run.seed", seed)},
      .config = site.shipped / (fleet.config + ".toml")};
  for (const Strings& more : {fleet.settings, way.settings}) {
    plan.overrides.insert(plan.overrides.end(), more.begin(), more.end());
  }
  const TrainingRun run(site, plan);
  trained.Add(run);
  Json numbers = run.Numbers();
  numbers.update({{"config", fleet.config},
                  {"way", way.name},
                  {"seed", seed},
                  {"steady_steps_per_second", run.SteadyRate()},
                  {"time", run.summary.at("time").at("actors")}});
  if (const auto time = report::TimeTo(kScore, trained.runs.back()); time.reached) {
    numbers["seconds_to_score"] = time.reached->seconds;
    numbers["steps_to_score"] = time.reached->steps;
  }
  json["runs"].push_back(std::move(numbers));
}

void MeasureWaysOf(const Site& site, const WaysFleet& fleet, Result& result) {
  // 1. Train: the ways take turns.
  const int seeds = site.quick ? 1 : kWaysSeeds;
  const std::vector<TrainingWay> ways = WaysToTrain(site);
  std::vector<WayRuns> trained(ways.size());
  for (int seed = 1; seed <= seeds; ++seed) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      MeasureWay(site, fleet, ways[i], seed, trained[i], result.json);
    }
  }
  // 2. A line of the table for each.
  result.details += fmt::format(
      "`configs/{}.toml`, {} actors (in stages {}), medians of {}:\n\n{}", fleet.config,
      fleet.actors, fleet.staged_actors, Plural(static_cast<std::size_t>(seeds), "run"),
      Head({"way", "steps/s", "of the first", "waits", "exchanges", "staleness mean (max)",
            fmt::format("seconds to {:g}", kScore), "steps to it"}));
  std::vector<std::string> ratios;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const WayRuns& it = trained[i];
    const double ratio = Median(it.rates) / Median(trained[0].rates);
    const auto score = it.ToScore().median;
    result.details += Line({ways[i].name, Rounded(Median(it.rates)), fmt::format("{:.2f}", ratio),
                            fmt::format("{:.0f} %", 100 * Median(it.waits)),
                            fmt::format("{:.0f} %", 100 * Median(it.exchanges)),
                            fmt::format("{:.1f} ({})", Median(it.staleness), it.oldest),
                            score ? report::SecondsText(score->seconds) : "not reached",
                            score ? HumanCount(score->steps) : "not reached"});
    if (i > 0) ratios.push_back(fmt::format("{} {:.2f}", ways[i].name, ratio));
  }
  result.details += "\n";
  result.rows.push_back(
      {.what =
           fmt::format("Steps/s, `configs/{}.toml`, {} actors, beside a learner without a bound",
                       fleet.config, fleet.actors),
       .measured = fmt::format("{}", fmt::join(ratios, "; "))});
}

// ---- 2. bytes

// Bytes that the loopback device has carried so far.
std::uint64_t LoopbackBytes() {
  std::ifstream devices("/proc/net/dev");
  for (std::string word; devices >> word;) {
    std::uint64_t received = 0;
    if (word == "lo:" && devices >> received) return received;
  }
  throw std::runtime_error("/proc/net/dev has no loopback device");
}

// A variable of the environment, for the children.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

// Everything travels over tcp, on this machine: its loopback counts the bytes.
void MeasureBytes(const Site& site, Result& result) {
  // MPI's messages between processes of one machine take shared memory otherwise.
  const Variable layer("OMPI_MCA_pml", "ob1"), transports("OMPI_MCA_btl", "self,tcp"),
      device("OMPI_MCA_btl_tcp_if_include", "lo");
  const std::filesystem::path config = site.shipped / "breakout.toml";
  const auto net = results::InitialNetOf(LoadConfig(config));
  const double gradient_bytes = static_cast<double>(4 * net.layout.size());
  std::vector<std::string> said;
  for (const TrainingWay& way : WaysToTrain(site)) {
    TrainingPlan plan{.name = fmt::format("ways, bytes, {}", way.name),
                      .overrides = {Set("actors.count", kActorsOverTcp),
                                    Set("run.steps", site.quick ? 16'000 : 160'000)},
                      .config = config};
    if (!way.mpi) plan.overrides.push_back("wire.endpoint=tcp://127.0.0.1:0");
    plan.overrides.insert(plan.overrides.end(), way.settings.begin(), way.settings.end());
    const std::uint64_t before = LoopbackBytes();
    const TrainingRun run(site, plan);
    const double bytes = static_cast<double>(LoopbackBytes() - before) /
                         static_cast<double>(run.status.gradients.received);
    said.push_back(fmt::format("{} {:.2f}", way.name, bytes / gradient_bytes));
    result.json["bytes"].push_back({{"way", way.name}, {"per_gradient", bytes}});
  }
  result.json["gradient_bytes"] = gradient_bytes;
  result.rows.push_back(
      {.what = fmt::format("Bytes over all links for each gradient, over tcp, {} actors, in "
                           "gradients ({} bytes)",
                           kActorsOverTcp, Grouped(4 * net.layout.size())),
       .measured = fmt::format("{}", fmt::join(said, "; "))});
}

}  // namespace

Result MeasureWays(const Site& site) {
  Result result{.json = Json::object()};
  const WaysFleet busy{.config = "breakout", .actors = 2, .staged_actors = 1, .steps = 2'000'000};
  const WaysFleet paced{
      .config = "paced",
      .actors = 8,
      .staged_actors = 8,
      .steps = 60'000,
      .settings = {"actors.envs_per_actor=2", "actors.unroll=10", "actors.groups=2"}};
  for (const WaysFleet& fleet : {busy, paced}) MeasureWaysOf(site, fleet, result);
  MeasureBytes(site, result);
  return result;
}

}  // namespace starling::bench
