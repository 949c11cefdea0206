// Measures throughput end to end: environment steps in applied gradients per second, with real
// processes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "actors/rollout.h"
#include "bench/figure.h"
#include "bench/sgemm.h"
#include "bench/training_run.h"
#include "bench/watched_backend.h"
#include "core/config/config.h"
#include "core/text.h"
#include "envs/registry.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

constexpr int kActors = 2;

struct Case {
  const char* key;     // in the JSON
  const char* what;    // follows "2 actors" in the row
  const char* config;  // in configs/; "": bench/minatar.toml
  std::vector<std::string> overrides;
  std::uint64_t steps, quick_steps;
  double wanted;                // steps or updates per second; 0 = no limit
  bool counts_updates = false;  // `wanted` is of updates
  bool starts_slowly = false;   // the first quarter of the steps does not count
};

std::vector<std::string> ShapeOverrides(int envs, int steps) {
  return {fmt::format("actors.envs_per_actor={}", envs), fmt::format("actors.unroll={}", steps)};
}

std::vector<Case> Cases() {
  return {
      {"2x64x5", " × 64 envs × 5 steps", "", ShapeOverrides(64, 5), 1'500'000, 50'000, 160e3},
      {"2x32x5", " × 32 envs × 5 steps", "", ShapeOverrides(32, 5), 1'000'000, 30'000, 140e3},
      {"2x1x5", " × 1 env × 5 steps, as in the A3C paper", "", ShapeOverrides(1, 5), 100'000, 5'000,
       4e3,
       /*counts_updates=*/true},
      {"pong", ", arcade/pong from pixels, configs/pong.toml", "pong.toml", {}, 48'000, 1'600, 8e3},
      {"ale_pong",
       ", gym:ALE/Pong-v5, configs/ale_pong.toml",
       "ale_pong.toml",
       {},
       20'000,
       1'280,
       2.5e3,
       /*counts_updates=*/false,
       /*starts_slowly=*/true},
      {"ale_pong_nature",
       ", gym:ALE/Pong-v5 with the Nature net",
       "ale_pong.toml",
       {"net.kind=nature", "net.hidden=[512]"},
       12'000,
       1'280,
       0,
       /*counts_updates=*/false,
       /*starts_slowly=*/true},
  };
}

struct Measured {
  Row row;
  nlohmann::ordered_json json;
  double steps_per_second = 0;  // 0: not measured
};

// Measures one case with one real run.
Measured Run(const Site& site, const Case& one) {
  Row row{.what = fmt::format("End to end, {} actors{}", kActors, one.what)};
  const char* const unit = one.counts_updates ? "updates/s" : "steps/s";
  if (one.wanted > 0) row.wanted = fmt::format("≥ {} {} on two cores", Rounded(one.wanted), unit);

  const auto config = one.config[0] == '\0' ? site.config : site.shipped / one.config;
  if (const std::string why = WhyRefused(config, one.overrides); !why.empty()) {
    row.measured = "not measured: " + why;
    return {.row = row, .json = {{"not_measured", why}}};
  }
  // 1. Train.
  TrainingPlan plan{.name = fmt::format("throughput-{}", one.key),
                    .overrides = one.overrides,
                    .timeout_s = 300,
                    .config = config};
  plan.overrides.push_back(fmt::format("actors.count={}", kActors));
  plan.overrides.push_back(fmt::format("run.steps={}", site.quick ? one.quick_steps : one.steps));
  const TrainingRun run(site, plan);

  // 2. Report the rate that the case asks for.
  const double steps = one.starts_slowly ? run.SteadyRate() : run.steps_per_second;
  const double rate = one.counts_updates ? run.updates_per_second : steps;
  row.measured = fmt::format("{} {}", Rounded(rate), unit);
  if (one.counts_updates) row.measured += fmt::format(" ({} steps/s)", Rounded(steps));
  if (one.wanted > 0 && !site.quick) row.holds = rate >= one.wanted;
  return {.row = row,
          .json = {{"steps", run.steps},
                   {"steps_per_second", steps},
                   {"updates_per_second", run.updates_per_second},
                   {"mean_staleness", run.mean_staleness},
                   {"max_staleness", run.max_staleness}},
          .steps_per_second = steps};
}

// The rate relative to the limit at which the cores compute nothing but dense products at their
// fastest.
Measured BesideSgemm(const Site& site, double rate) {
  constexpr double kWantedShare = 0.65;
  const Config config = LoadConfig(site.config);
  const Flops flops = FlopsOf(actors::ModelSpecOf(config, envs::SpecOf(config.env)));
  const double step = flops.forward + flops.backward;
  const double sgemm = BestSgemmGflops(site.quick ? 0.02 : 1, kActors);
  const double limit = kActors * sgemm * 1e9 / step, share = rate / limit;
  Row row{.what = fmt::format("… of {} steps/s, the limit of dense products: {} cores × {:.0f} "
                              "GFLOP/s of sgemm, both busy / {:.2f} MFLOP a step",
                              Rounded(limit), kActors, sgemm, step / 1e6),
          .measured = fmt::format("{:.0f} %", 100 * share),
          .wanted = fmt::format("≥ {:.0f} %", 100 * kWantedShare)};
  if (!site.quick) row.holds = share >= kWantedShare;
  return {.row = row,
          .json = {{"sgemm_gflops_per_core", sgemm},
                   {"flops_per_step", step},
                   {"limit_steps_per_second", limit},
                   {"share", share}}};
}

// The first case with the net's products in bf16.
Measured InBf16(const Site& site, double f32) {
  constexpr double kWanted = 1.3;
  Case one = Cases().front();
  one.key = "2x64x5-bf16";
  one.what = " × 64 envs × 5 steps, net.precision = \"bf16\"";
  one.wanted = 0;
  one.overrides.push_back("net.precision=bf16");
  Measured measured = Run(site, one);
  measured.row.wanted = fmt::format("≥ {:.1f} × f32", kWanted);
  if (measured.steps_per_second == 0) return measured;
  const double ratio = measured.steps_per_second / f32;
  measured.row.measured += fmt::format(", {:.2f} × f32", ratio);
  measured.json["of_f32"] = ratio;
  if (!site.quick) measured.row.holds = ratio >= kWanted;
  return measured;
}

// The slowest of the MinAtar games. `breakout`: the rate measured before.
Measured SlowestGame(const Site& site, double breakout) {
  constexpr double kWanted = 110e3;
  std::string slowest = "breakout";
  double least = breakout;
  nlohmann::ordered_json json{{"breakout", breakout}};
  for (const char* game : {"asterix", "freeway", "seaquest", "space_invaders"}) {
    std::vector<std::string> overrides = ShapeOverrides(64, 5);
    overrides.push_back(std::string("env.name=minatar/") + game);
    const double rate = Run(site, {game, game, "", overrides, 500'000, 30'000, 0}).steps_per_second;
    json[game] = rate;
    if (rate < least) slowest = game, least = rate;
  }
  Row row{.what = fmt::format("End to end, {} actors × 64 envs × 5 steps, the slowest of the five "
                              "MinAtar games",
                              kActors),
          .measured = fmt::format("{} steps/s ({})", Rounded(least), slowest),
          .wanted = fmt::format("≥ {} steps/s on two cores", Rounded(kWanted))};
  if (!site.quick) row.holds = least >= kWanted;
  return {.row = row, .json = json};
}

}  // namespace

Result MeasureThroughput(const Site& site) {
  Result result;
  nlohmann::ordered_json json;
  const auto add = [&](const char* key, const Measured& measured) {
    result.rows.push_back(measured.row);
    json[key] = measured.json;
  };
  // The first case is the measure of the rows that follow it.
  const std::vector<Case> cases = Cases();
  const Measured breakout = Run(site, cases.front());
  add(cases.front().key, breakout);
  add("2x64x5_bf16", InBf16(site, breakout.steps_per_second));
  add("beside_sgemm", BesideSgemm(site, breakout.steps_per_second));
  for (const Case& one : std::span(cases).subspan(1)) {
    add(one.key, Run(site, one));
    if (std::string(one.key) == "2x1x5") {
      add("games_2x64x5", SlowestGame(site, breakout.steps_per_second));
    }
  }
  result.json = json.dump();
  return result;
}

}  // namespace starling::bench
