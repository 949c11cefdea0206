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
#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "actors/rollout.h"
#include "bench/figure.h"
#include "bench/push_ways.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/denormals.h"
#include "core/text.h"
#include "net/model.h"

namespace starling::bench {
namespace {

using Gradients = std::vector<std::vector<float>>;

constexpr std::size_t kPushers[] = {1, 2, 4, 8, 16};
constexpr std::size_t kTraining = 4;  // pushers in the runs with scores

// A thread that pushes gradients as an actor does: it copies the newest weights, makes a gradient,
// and waits until it is applied.
class Pusher {
 public:
  Pusher(PushWay& way, std::size_t who) : way_(way), who_(who), reader_(way.snapshot()) {}

  // Copies the newest weights; retries if the writer overtakes the copy.
  const wire::SnapshotMeta& Refresh(std::span<float> weights) {
    while (!reader_.Read(0, weights, meta_)) std::this_thread::yield();
    return meta_;
  }
  void Push(std::span<const float> gradient, std::uint32_t samples) {
    std::uint64_t version = 0;
    waited_ns += TimeNs([&] { version = way_.Push(who_, gradient, samples); });
    staleness += static_cast<double>(version - 1 - meta_.version);
    ++pushes;
  }
  // Notes the return of an episode that ended on the weights in use.
  void AddEpisode(double score) { episodes.emplace_back(meta_.version, score); }

  // REQUIRES: the pusher's thread has ended, to read them.
  std::int64_t begin_ns = 0, end_ns = 0;
  double waited_ns = 0, pushes = 0, staleness = 0;         // sums over all pushes
  std::vector<std::pair<std::uint64_t, double>> episodes;  // version played on, return

 private:
  PushWay& way_;
  const std::size_t who_;
  wire::SnapshotReader reader_;
  wire::SnapshotMeta meta_;
};

struct PushSpeed {
  double updates_per_second = 0;
  double staleness = 0;    // mean
  double waiting = 0;      // share of the pushers' time from a push to its acknowledgement
  double mean_return = 0;  // of the last 100 episodes, or of all if they are fewer
};

double MeanOfTheLast(const std::vector<Pusher>& pushers) {
  constexpr std::size_t kLastEpisodes = 100;
  std::vector<std::pair<std::uint64_t, double>> all;
  for (const Pusher& pusher : pushers) {
    all.insert(all.end(), pusher.episodes.begin(), pusher.episodes.end());
  }
  std::ranges::stable_sort(all, {}, &std::pair<std::uint64_t, double>::first);
  const std::size_t n = std::min(all.size(), kLastEpisodes);
  double sum = 0;
  for (const auto& [version, score] : std::span(all).last(n)) sum += score;
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

// Prepares every pusher's work in a thread of its own, then runs all of it at once. Returns the
// speed of all pushers together.
using Work = std::function<void(Pusher&)>;
PushSpeed RunAll(PushWay& way, std::size_t count,
                 const std::function<Work(std::uint32_t pusher)>& prepare) {
  // 1. All threads prepare; none starts before the last is ready.
  std::vector<Pusher> pushers;
  for (std::size_t i = 0; i < count; ++i) pushers.emplace_back(way, i);
  std::latch ready(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      FlushDenormals();
      const Work work = prepare(static_cast<std::uint32_t>(i));
      ready.arrive_and_wait();
      const SteadyClock clock;
      pushers[i].begin_ns = clock.NowNs();
      work(pushers[i]);
      pushers[i].end_ns = clock.NowNs();
    });
  }
  threads.clear();  // joins
  // 2. Add up, from the first start to the last end.
  const std::int64_t begin = std::ranges::min_element(pushers, {}, &Pusher::begin_ns)->begin_ns;
  const std::int64_t end = std::ranges::max_element(pushers, {}, &Pusher::end_ns)->end_ns;
  double pushes = 0, staleness = 0, waited = 0, worked = 0;
  for (const Pusher& pusher : pushers) {
    pushes += pusher.pushes;
    staleness += pusher.staleness;
    waited += pusher.waited_ns;
    worked += static_cast<double>(pusher.end_ns - pusher.begin_ns);
  }
  return {.updates_per_second = pushes / static_cast<double>(end - begin) * 1e9,
          .staleness = staleness / pushes,
          .waiting = waited / worked,
          .mean_return = MeanOfTheLast(pushers)};
}

// For `seconds`, every pusher copies the newest weights, copies one of `gradients` into its own
// buffer, and pushes it.
PushSpeed MeasurePushes(std::string_view how, const Config& config, std::span<const float> weights,
                        const Gradients& gradients, std::size_t count, double seconds) {
  const auto way = MakePushWay(how, config, weights, count);
  const auto samples = static_cast<std::uint32_t>(config.samples_per_gradient());
  return RunAll(*way, count, [&](std::uint32_t i) -> Work {
    return [&, i, own = std::vector<float>(weights.size()),
            gradient = std::vector<float>(weights.size())](Pusher& pusher) mutable {
      const SteadyClock clock;
      const std::int64_t end = clock.NowNs() + static_cast<std::int64_t>(seconds * 1e9);
      for (std::size_t k = i; clock.NowNs() < end; ++k) {
        pusher.Refresh(own);
        std::ranges::copy(gradients[k % gradients.size()], gradient.begin());
        pusher.Push(gradient, samples);
      }
    };
  });
}

std::vector<float> InitialWeights(const Config& config) {
  return net::InitialParameters(actors::Rollout(config, 0, 1).layout(), config.run.seed);
}

// Pushers play the configuration's game and push real gradients until there are `gradients`.
PushSpeed TrainByPushes(std::string_view how, const Config& config, std::uint64_t gradients) {
  const std::vector<float> initial = InitialWeights(config);
  const auto way = MakePushWay(how, config, initial, kTraining);
  std::atomic<std::uint64_t> begun{0};  // only counts, hence relaxed
  return RunAll(*way, kTraining, [&](std::uint32_t i) -> Work {
    const auto rollout = std::make_shared<actors::Rollout>(config, i, 1);
    return [&, rollout, gradient = std::vector<float>(initial.size())](Pusher& pusher) mutable {
      while (begun.fetch_add(1, std::memory_order_relaxed) < gradients) {
        const double entropy = pusher.Refresh(rollout->weights()).entropy;
        const auto done = rollout->Run(entropy, gradient);
        for (const auto& end : rollout->TakeEpisodes().ended) pusher.AddEpisode(end.episode_return);
        pusher.Push(gradient, done.samples);
      }
    };
  });
}

// Gradients of the first unrolls, as dense as those of a run.
Gradients RealGradients(const Config& config, const std::vector<float>& weights) {
  actors::Rollout rollout(config, 0, 1);
  Gradients gradients;
  for (int i = 0; i < 8; ++i) {
    std::ranges::copy(weights, rollout.weights().begin());
    rollout.Run(config.loss.entropy, gradients.emplace_back(weights.size()));
  }
  return gradients;
}

// The numbers of one way, one for each repeat.
struct Series {
  std::string_view way;
  std::vector<double> rates{}, waits{}, staleness{}, scores{};
};

// Calls measure(way, repeat) for all ways in turns, so that a disturbance hits all of them.
template <class Measure>
std::vector<Series> InTurns(const Site& site, int repeats, const Measure& measure) {
  std::vector<Series> all;
  for (const std::string_view way : kPushWays) all.push_back({.way = way});
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Series& one : all) {
      ThrowIfInterrupted(site.stop_fd);
      const PushSpeed speed = measure(one.way, repeat);
      one.rates.push_back(speed.updates_per_second);
      one.waits.push_back(speed.waiting);
      one.staleness.push_back(speed.staleness);
      one.scores.push_back(speed.mean_return);
    }
  }
  return all;
}

std::string Share(double share) { return fmt::format("{:.0f} %", 100 * share); }

Row MeasureSpeed(const Site& site, const Config& config, const std::vector<float>& weights,
                 const Gradients& gradients, std::size_t pushers, Json& json) {
  const double seconds = site.quick ? 0.05 : 1;
  std::vector<std::string> measured;
  for (const auto& [way, rates, waits, staleness, scores] :
       InTurns(site, site.quick ? 1 : 5, [&](std::string_view way, int) {
         return MeasurePushes(way, config, weights, gradients, pushers, seconds);
       })) {
    measured.push_back(
        fmt::format("{} {} (waits {})", way, Rounded(Median(rates)), Share(Median(waits))));
    json[fmt::format("{}", pushers)][std::string(way)] = {{"updates_per_second", Median(rates)},
                                                          {"least", Least(rates)},
                                                          {"most", Most(rates)},
                                                          {"waiting", Median(waits)}};
  }
  return {.what = fmt::format("Updates/s of {} weights, {} push{}",
                              Rounded(static_cast<double>(weights.size())),
                              Plural(pushers, "thread"), pushers > 1 ? "" : "es"),
          .measured = fmt::format("{}", fmt::join(measured, ", "))};
}

struct Game {
  const char *name, *config;
  std::uint64_t steps;
  int seeds;
};

Row MeasureScore(const Site& site, const Game& game, Json& json) {
  const int seeds = site.quick ? 1 : game.seeds;
  std::uint64_t updates = 0;
  std::vector<std::string> measured;
  for (const auto& [way, rates, waits, staleness, scores] :
       InTurns(site, seeds, [&](std::string_view way, int repeat) {
         const Config config =
             LoadConfig(site.shipped / game.config,
                        {Set("run.steps", site.quick ? 4'000 : game.steps),
                         Set("run.seed", repeat + 1), Set("actors.count", kTraining)});
         const auto samples = static_cast<std::uint64_t>(config.samples_per_gradient());
         updates = (config.run.steps + samples - 1) / samples;
         return TrainByPushes(way, config, updates);
       })) {
    measured.push_back(fmt::format("{} {:.2f} ({:.2f} to {:.2f}; staleness {:.1f}, waits {})", way,
                                   Mean(scores), Least(scores), Most(scores), Mean(staleness),
                                   Share(Median(waits))));
    json[game.name][std::string(way)] = {{"mean_return", scores},
                                         {"staleness", staleness},
                                         {"waiting", waits},
                                         {"updates_per_second", rates}};
  }
  return {.what = fmt::format("Return of {} after {} gradients of {} threads, last 100 episodes, "
                              "mean of {} (least to most)",
                              game.name, Grouped(updates), kTraining,
                              Plural(static_cast<std::size_t>(seeds), "seed")),
          .measured = fmt::format("{}", fmt::join(measured, ", "))};
}

}  // namespace

Result MeasureLock(const Site& site) {
  // With such a learning rate any number of updates leaves the weights unchanged.
  const Config config =
      LoadConfig(site.config, {"optimizer.lr=1e-9", "optimizer.lr_schedule=constant"});
  const std::vector<float> weights = InitialWeights(config);
  const Gradients gradients = RealGradients(config, weights);
  Result result{.json = {{"weights", weights.size()}}};
  for (const std::size_t pushers : kPushers) {
    result.rows.push_back(
        MeasureSpeed(site, config, weights, gradients, pushers, result.json["pushers"]));
  }
  constexpr Game kGames[] = {{"catch", "catch.toml", 150'000, 10},
                             {"minatar/breakout", "breakout.toml", 1'000'000, 5}};
  for (const Game& game : kGames) {
    result.rows.push_back(MeasureScore(site, game, result.json["scores"]));
  }
  return result;
}

}  // namespace starling::bench
