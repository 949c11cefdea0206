// Measures throughput end to end: environment steps in applied gradients per second, with real
// processes; and its growth with the number of actors on one machine, with many games per actor and
// with one, as in the A3C paper, which makes many small gradients.
#include <fmt/format.h>

#include <span>

#include "actors/model_spec.h"
#include "bench/figure.h"
#include "bench/training_run.h"
#include "bench/watched_backend.h"
#include "core/config/config.h"
#include "core/text.h"
#include "envs/registry.h"

namespace starling::bench {
namespace {

constexpr int kActors = 2;

enum class Counted {
  kSteps,
  kSteadySteps,  // the first quarter of the steps does not count: the envs start slowly
  kUpdates
};

struct Case {
  const char* key;     // in the JSON
  const char* what;    // follows "2 actors" in the row
  const char* config;  // in configs/; "": bench/minatar.toml
  std::vector<std::string> overrides;
  std::uint64_t steps, quick_steps;
  Counted rate = Counted::kSteps;
  double wanted = 0;  // of that rate, per second; 0 = no limit
};

std::vector<std::string> Envs(int count) {
  return {Set("actors.envs_per_actor", count), "actors.unroll=5"};
}

std::vector<Case> Cases() {
  constexpr const char* kOne = " × 1 env × 5 steps, as in the A3C paper";
  constexpr const char* kPong = ", arcade/pong from pixels, configs/pong.toml";
  constexpr const char* kAle = ", ale:pong, configs/ale_pong_a3c.toml";
  constexpr const char* kNature = ", ale:pong with the Nature net";
  const std::vector<std::string> nature = {"net.kind=nature", "net.hidden=[512]"};
  return {
      {"2x64x5", " × 64 envs × 5 steps", "", Envs(64), 1'500'000, 50'000, Counted::kSteps, 160e3},
      {"2x32x5", " × 32 envs × 5 steps", "", Envs(32), 1'000'000, 30'000, Counted::kSteps, 140e3},
      {"2x1x5", kOne, "", Envs(1), 100'000, 5'000, Counted::kUpdates, 4e3},
      {"pong", kPong, "pong.toml", {}, 48'000, 1'600, Counted::kSteps, 8e3},
      {"ale_pong", kAle, "ale_pong_a3c.toml", {}, 20'000, 1'280, Counted::kSteadySteps, 2.5e3},
      {"ale_pong_nature", kNature, "ale_pong_a3c.toml", nature, 12'000, 1'280,
       Counted::kSteadySteps},
  };
}

struct Measured {
  Row row;
  Json json;
  double steps_per_second = 0;  // 0: not measured
};

// Measures one case with one real run.
Measured Run(const Site& site, const Case& one) {
  const bool updates = one.rate == Counted::kUpdates;
  const char* const unit = updates ? "updates/s" : "steps/s";
  Row row{.what = fmt::format("End to end, {} actors{}", kActors, one.what)};
  if (one.wanted > 0) row.wanted = fmt::format("≥ {} {} on two cores", Rounded(one.wanted), unit);
  // 1. Train, if this machine can.
  TrainingPlan plan{.name = fmt::format("throughput-{}", one.key),
                    .overrides = one.overrides,
                    .config = *one.config == '\0' ? site.config : site.shipped / one.config};
  if (const std::string why = WhyRefused(plan.config, one.overrides); !why.empty()) {
    row.measured = "not measured: " + why;
    return {.row = row, .json = {{"not_measured", why}}};
  }
  plan.overrides.push_back(Set("actors.count", kActors));
  plan.overrides.push_back(Set("run.steps", site.quick ? one.quick_steps : one.steps));
  const TrainingRun run(site, plan);

  // 2. Report the rate that the case asks for.
  const double steps =
      one.rate == Counted::kSteadySteps ? run.SteadyRate() : run.status.steps_per_second;
  const double rate = updates ? run.UpdatesPerSecond() : steps;
  row.measured = fmt::format("{} {}", Rounded(rate), unit);
  if (updates) row.measured += fmt::format(" ({} steps/s)", Rounded(steps));
  if (one.wanted > 0) row.holds = site.Judged(rate >= one.wanted);
  Json json = run.Numbers();
  json["steps_per_second"] = steps;
  return {.row = row, .json = json, .steps_per_second = steps};
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
  return {.row = {.what = fmt::format("… of {} steps/s, the limit of dense products: {} cores × "
                                      "{:.0f} GFLOP/s of sgemm, both busy / {:.2f} MFLOP a step",
                                      Rounded(limit), kActors, sgemm, step / 1e6),
                  .measured = fmt::format("{:.0f} %", 100 * share),
                  .wanted = fmt::format("≥ {:.0f} %", 100 * kWantedShare),
                  .holds = site.Judged(share >= kWantedShare)},
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
  measured.row.holds = site.Judged(ratio >= kWanted);
  return measured;
}

// The slowest of the MinAtar games. `breakout`: the rate measured before.
Measured SlowestGame(const Site& site, double breakout) {
  constexpr double kWanted = 110e3;
  std::string slowest = "breakout";
  double least = breakout;
  Json json{{"breakout", breakout}};
  for (const char* game : {"asterix", "freeway", "seaquest", "space_invaders"}) {
    Case one{game, "", "", Envs(64), 500'000, 30'000};
    one.overrides.push_back(fmt::format("env.name=minatar/{}", game));
    const double rate = Run(site, one).steps_per_second;
    json[game] = rate;
    if (rate < least) slowest = game, least = rate;
  }
  return {.row = {.what = fmt::format("End to end, {} actors × 64 envs × 5 steps, the slowest of "
                                      "the five MinAtar games",
                                      kActors),
                  .measured = fmt::format("{} steps/s ({})", Rounded(least), slowest),
                  .wanted = fmt::format("≥ {} steps/s on two cores", Rounded(kWanted)),
                  .holds = site.Judged(least >= kWanted)},
          .json = json};
}

// One run for each number of actors. `wanted_updates`: per second, of two actors; 0: the row shows
// steps, without a limit.
void Scale(const Site& site, const GridPlan& plan, double wanted_updates, Result& result) {
  const bool updates = wanted_updates > 0;
  std::vector<std::int64_t> actors;
  std::vector<std::string> rates;
  Row row;
  std::int64_t envs = 0;
  ForEachRun(site, plan, [&](const Config& config, const TrainingRun& run) {
    envs = config.actors.envs_per_actor;
    actors.push_back(config.actors.count);
    const double rate = updates ? run.UpdatesPerSecond() : run.status.steps_per_second;
    rates.push_back(Rounded(rate));
    if (updates && actors.back() == 2) row.holds = site.Judged(rate >= wanted_updates);
    result.json[fmt::format("{}x{}x5", actors.back(), envs)] = run.Numbers();
  });
  row.what = fmt::format("Scaling, {} × 5 steps, {} actors",
                         Plural(static_cast<std::size_t>(envs), "env"), fmt::join(actors, " / "));
  row.measured = fmt::format("{} {}", fmt::join(rates, " / "), updates ? "updates/s" : "steps/s");
  if (updates) {
    row.wanted = fmt::format("2 actors: ≥ {} updates/s on two cores", Rounded(wanted_updates));
  }
  result.rows.push_back(std::move(row));
}

}  // namespace

Result MeasureThroughput(const Site& site) {
  Result result;
  const auto add = [&](const char* key, const Measured& measured) {
    result.rows.push_back(measured.row);
    result.json[key] = measured.json;
  };
  // The first case is the measure of the rows that follow it.
  const std::vector<Case> cases = Cases();
  const Measured breakout = Run(site, cases.front());
  add(cases.front().key, breakout);
  add("2x64x5_bf16", InBf16(site, breakout.steps_per_second));
  add("beside_sgemm", BesideSgemm(site, breakout.steps_per_second));
  for (const Case& one : std::span(cases).subspan(1)) {
    add(one.key, Run(site, one));
    if (one.rate == Counted::kUpdates) {
      add("games_2x64x5", SlowestGame(site, breakout.steps_per_second));
    }
  }
  return result;
}

Result MeasureScaling(const Site& site) {
  Result result;
  Scale(site, {.file = "scaling-64.toml", .quick_steps = 30'000}, 0, result);
  Scale(site, {.file = "scaling-1.toml", .quick_steps = 4'000}, 4000, result);
  return result;
}

}  // namespace starling::bench
