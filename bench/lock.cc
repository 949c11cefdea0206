// Compares lanes, hogwild and a mutex (push_ways.h) with 1 to 16 threads that push gradients in
// this process: updates per second, the wait of a pusher, and the score after equally many
// gradients.
//
// Speed is measured with the net of bench/minatar.toml and gradients computed beforehand. Between
// two pushes a pusher copies the newest weights and writes a gradient, as an actor does, but
// computes nothing, so that it waits for nothing but the update. Scores are those of real rollouts,
// each on the newest weights, with the same seeds for all three ways; the order of the gradients is
// random.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "actors/rollout.h"
#include "bench/child.h"
#include "bench/figure.h"
#include "bench/push_ways.h"
#include "bench/pushers.h"
#include "bench/stats.h"
#include "core/config/config.h"
#include "core/text.h"
#include "net/model.h"
#include "results/summary.h"

namespace starling::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPushers[] = {1, 2, 4, 8, 16};
constexpr std::size_t kTraining = 4;  // pushers in the runs with scores

std::string Share(double share) { return fmt::format("{:.0f} %", 100 * share); }

// "lanes 1, hogwild 2, mutex 3".
class Ways {
 public:
  void Add(std::string_view way, const std::string& text) {
    text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", way, text);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Gradients of the first unrolls, as dense as those of a run.
std::vector<std::vector<float>> RealGradients(const Config& config,
                                              const std::vector<float>& weights) {
  actors::Rollout rollout(config, 0, 1);
  std::vector<std::vector<float>> gradients;
  for (int i = 0; i < 8; ++i) {
    std::ranges::copy(weights, rollout.weights().begin());
    rollout.Run(config.loss.entropy, gradients.emplace_back(weights.size()));
  }
  return gradients;
}

// Measures the ways in turns, several times, so that a disturbance hits all of them.
Row MeasureSpeed(const Site& site, const Config& config, const std::vector<float>& weights,
                 const std::vector<std::vector<float>>& gradients, std::size_t pushers,
                 Json& json) {
  const int repeats = site.quick ? 1 : 5;
  const double seconds = site.quick ? 0.05 : 1;
  std::vector<std::vector<double>> rates(kPushWays.size()), waits(kPushWays.size());
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t way = 0; way < kPushWays.size(); ++way) {
      ThrowIfInterrupted(site.stop_fd);
      const PushSpeed speed =
          MeasurePushes(kPushWays[way], config, weights, gradients, pushers, seconds);
      rates[way].push_back(speed.updates_per_second);
      waits[way].push_back(speed.waiting);
    }
  }
  Ways text;
  for (std::size_t way = 0; way < kPushWays.size(); ++way) {
    const double rate = Median(rates[way]), wait = Median(waits[way]);
    text.Add(kPushWays[way], fmt::format("{} (waits {})", Rounded(rate), Share(wait)));
    json[fmt::format("{}", pushers)][std::string(kPushWays[way])] = {{"updates_per_second", rate},
                                                                     {"least", Least(rates[way])},
                                                                     {"most", Most(rates[way])},
                                                                     {"waiting", wait}};
  }
  return {.what = fmt::format("Updates/s of {} weights, {} thread{} push{}",
                              Rounded(static_cast<double>(weights.size())), pushers,
                              pushers > 1 ? "s" : "", pushers > 1 ? "" : "es"),
          .measured = text.text()};
}

struct Game {
  const char* key;
  const char* config;
  std::vector<std::string> overrides;
  const char* steps;  // run.steps
  const char* quick_steps;
  int seeds;
};

Row MeasureScore(const Site& site, const Game& game, Json& json) {
  const int seeds = site.quick ? 1 : game.seeds;
  using Values = std::vector<std::vector<double>>;  // by way, by seed
  Values scores(kPushWays.size()), waits = scores, rates = scores, staleness = scores;
  std::uint64_t updates = 0;
  // 1. Train every way with every seed.
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<std::string> overrides = game.overrides;
    overrides.push_back(fmt::format("run.steps={}", site.quick ? game.quick_steps : game.steps));
    overrides.push_back(fmt::format("run.seed={}", seed));
    overrides.push_back(fmt::format("actors.count={}", kTraining));
    const Config config = LoadConfig(site.shipped / game.config, overrides);
    for (std::size_t way = 0; way < kPushWays.size(); ++way) {
      ThrowIfInterrupted(site.stop_fd);
      const TrainedBy trained = TrainByPushes(kPushWays[way], config, kTraining);
      scores[way].push_back(trained.mean_return);
      waits[way].push_back(trained.speed.waiting);
      rates[way].push_back(trained.speed.updates_per_second);
      staleness[way].push_back(trained.speed.staleness);
      updates = trained.updates;
    }
  }
  // 2. Summarise over the seeds.
  Ways text;
  for (std::size_t way = 0; way < kPushWays.size(); ++way) {
    text.Add(kPushWays[way], fmt::format("{:.2f} ({:.2f} to {:.2f}; staleness {:.1f}, waits {})",
                                         Mean(scores[way]), Least(scores[way]), Most(scores[way]),
                                         Mean(staleness[way]), Share(Median(waits[way]))));
    json[game.key][std::string(kPushWays[way])] = {{"mean_return", scores[way]},
                                                   {"staleness", staleness[way]},
                                                   {"waiting", waits[way]},
                                                   {"updates_per_second", rates[way]}};
  }
  return {.what = fmt::format("Return of {} after {} gradients of {} threads, last 100 episodes, "
                              "mean of {} seed{} (least to most)",
                              game.key, Grouped(updates), kTraining, seeds, seeds > 1 ? "s" : ""),
          .measured = text.text()};
}

}  // namespace

Result MeasureLock(const Site& site) {
  // With such a learning rate any number of updates leaves the weights unchanged.
  const Config config =
      LoadConfig(site.config, {"optimizer.lr=1e-9", "optimizer.lr_schedule=constant"});
  const std::vector<float> weights =
      net::InitialParameters(actors::Rollout(config, 0, 1).layout(), config.run.seed);
  const auto gradients = RealGradients(config, weights);
  Result result;
  Json speed, scores;
  for (const std::size_t pushers : kPushers) {
    result.rows.push_back(MeasureSpeed(site, config, weights, gradients, pushers, speed));
  }
  const std::vector<Game> games = {
      {"catch", "catch.toml", {}, "150_000", "4_000", 10},
      {"minatar/breakout", "breakout.toml", {}, "1_000_000", "4_000", 5},
  };
  for (const Game& game : games) result.rows.push_back(MeasureScore(site, game, scores));
  result.json = Json{{"weights", weights.size()}, {"pushers", speed}, {"scores", scores}}.dump();
  return result;
}

}  // namespace starling::bench
