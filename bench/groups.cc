// Measures envs that take turns: steps per second with actors.groups = 1 and 2, where a step takes
// time elsewhere.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/config/config.h"

namespace starling::bench {
namespace {

using Settings = std::vector<std::string>;

constexpr int kGroupRounds = 3;

// What is trained with one group and with two.
struct Load {
  std::string name;  // of the runs
  std::filesystem::path config;
  Settings settings;
  std::uint64_t steps = 0;
};

// Medians of the rates, whose runs take turns.
struct Rates {
  double one = 0, two = 0;
};

Rates MeasureRates(const Site& site, const Load& load, Json& json) {
  std::array<std::vector<double>, 2> rates;
  for (int round = 0; round < (site.quick ? 1 : kGroupRounds); ++round) {
    for (const std::size_t groups : {1, 2}) {
      TrainingPlan plan{.name = fmt::format("groups-{}-{}", load.name, groups),
                        .overrides = load.settings,
                        .config = load.config};
      plan.overrides.push_back(Set("actors.groups", groups));
      plan.overrides.push_back(Set("run.steps", site.quick ? load.steps / 20 : load.steps));
      const TrainingRun run(site, plan);
      rates[groups - 1].push_back(run.SteadyRate());
      Json numbers = run.Numbers();
      numbers.update({{"load", load.name},
                      {"groups", groups},
                      {"steps_per_second", run.SteadyRate()},
                      {"actor_shares", run.summary.at("time").at("actors")}});
      json["runs"].push_back(std::move(numbers));
    }
  }
  return {.one = Median(rates[0]), .two = Median(rates[1])};
}

// A simulator that plays two envs takes as long for each step of both as for two steps of one.
Row AtAPace(const Site& site, Json& json) {
  const std::filesystem::path config = site.shipped / "paced.toml";
  const Config paced = LoadConfig(config.string());
  const Settings settings = {"actors.envs_per_actor=2",
                             Set("actors.unroll", paced.actors.unroll / 2),
                             Set("env.step_ms", 2 * paced.env.step_ms), "env.step_jitter=0"};
  const Rates rates = MeasureRates(
      site, {.name = "paced", .config = config, .settings = settings, .steps = 160'000}, json);
  const double ideal = static_cast<double>(paced.actors.count) * 1000 / paced.env.step_ms;
  const auto of_ideal = [&](double rate) {
    return fmt::format("{} ({:.0f} % of the ideal)", Rounded(rate), 100 * rate / ideal);
  };
  return {.what = fmt::format("Steps/s, {} actors, each with a simulator that plays two envs at {} "
                              "ms a step: one group, two groups",
                              paced.actors.count, paced.env.step_ms),
          .measured = fmt::format("{}, {}", of_ideal(rates.one), of_ideal(rates.two)),
          .wanted = "two groups ≥ 97 % of the ideal",
          .holds = site.Judged(rates.two >= 0.97 * ideal)};
}

// Where ale-py is installed.
Row InOtherProcesses(const Site& site, Json& json) {
  const std::filesystem::path config = site.shipped / "ale_pong_a3c.toml";
  Row row{.what = "Steps/s, one actor, 16 envs of ale:pong: one group, two groups"};
  const Settings settings = {"actors.count=1", "actors.envs_per_actor=16"};
  const std::string why = WhyRefused(config, settings);
  if (!why.empty()) {
    row.measured = "not measured: " + why;
    return row;
  }
  const Rates rates = MeasureRates(
      site, {.name = "pong", .config = config, .settings = settings, .steps = 16'000}, json);
  row.measured = fmt::format("{}, {} = {:.2f} ×", Rounded(rates.one), Rounded(rates.two),
                             rates.two / rates.one);
  return row;
}

}  // namespace

Result MeasureGroups(const Site& site) {
  Result result;
  result.rows = {AtAPace(site, result.json), InOtherProcesses(site, result.json)};
  return result;
}

}  // namespace starling::bench
