// Measures one net on two cores in four ways: one actor (on one core), two actors, one actor with
// two stages, and one actor whose linear products are split in halves between two threads. The nets
// differ in width and depth.
#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/rollout.h"
#include "bench/figure.h"
#include "bench/halves_backend.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/denormals.h"
#include "core/text.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr int kCoresUsed = 2;  // by two actors, two stages, two halves
constexpr int kParallelRounds = 3;

enum class Split { kOneActor, kTwoActors, kStages, kHalves };
constexpr Split kSplits[] = {Split::kOneActor, Split::kTwoActors, Split::kStages, Split::kHalves};

// "linear W", then so many LSTMs of W, on an env that costs next to nothing.
Config ConfigOf(int width, int lstms, Split split) {
  std::string layers = fmt::format("\"linear {}\", \"relu\"", width);
  for (int i = 0; i < lstms; ++i) layers += fmt::format(", \"lstm {}\"", width);
  std::vector<std::string> settings = {"env.name=dummy", "net.hidden=[]", "net.init=fan_in",
                                       fmt::format("net.layers=[{}]", layers), "actors.count=1"};
  if (split == Split::kStages) {
    settings.insert(settings.end(),
                    {Set("net.stages", kCoresUsed), Set("actors.groups", kCoresUsed)});
  }
  return ParseConfig("", "parallel.toml", settings);
}

// An actor without a learner.
class Actor {
 public:
  Actor(int width, int lstms, Split split)
      : config_(ConfigOf(width, lstms, split)), rollout_(Make(config_, split)) {
    const std::vector<float> initial =
        net::InitialParameters(rollout_->layout(), 1, config_.net.init);
    std::ranges::copy(initial, rollout_->weights().begin());
    gradient_.resize(initial.size());
  }

  std::uint64_t Run() { return rollout_->Run(config_.loss.entropy, gradient_).samples; }
  // Of all stages together.
  double BusyNs() const {
    double sum = 0;
    for (const std::int64_t ns : rollout_->stage_busy_ns()) sum += static_cast<double>(ns);
    return sum;
  }
  std::size_t weights() const { return rollout_->layout().num_weights(); }

 private:
  static std::unique_ptr<actors::Rollout> Make(const Config& config, Split split) {
    if (split != Split::kHalves) return std::make_unique<actors::Rollout>(config, 0, 1);
    actors::Replica replica{.gpu = nullptr, .backend = std::make_unique<HalvesBackend>()};
    return std::make_unique<actors::Rollout>(config, 0, 1, std::move(replica), actors::EnvGroups());
  }

  const Config config_;
  const std::unique_ptr<actors::Rollout> rollout_;
  std::vector<float> gradient_;
};

struct Rate {
  double steps_per_second = 0;
  double idle = 0;  // of the stages' threads; 0 without stages
};

// Unrolls for `seconds`, at least two after one that warms up.
Rate Measure(Actor& actor, double seconds) {
  actor.Run();
  const double busy_before = actor.BusyNs();
  double ns = 0;
  std::uint64_t steps = 0;
  for (int run = 0; run < 2 || ns < seconds * 1e9; ++run) {
    ns += TimeNs([&] { steps += actor.Run(); });
  }
  const double busy = actor.BusyNs() - busy_before;
  return {.steps_per_second = static_cast<double>(steps) / ns * 1e9,
          .idle = busy == 0 ? 0 : 1 - busy / (kCoresUsed * ns)};
}

// Two actors, a thread each, which begin together.
Rate MeasureTwo(int width, int lstms, double seconds, std::size_t& weights) {
  double rates[2] = {};
  std::barrier begin(2);
  std::atomic<int> measured{0};
  const auto act = [&](int number) {
    FlushDenormals();
    Actor actor(width, lstms, Split::kTwoActors);
    if (number == 0) weights = actor.weights();
    begin.arrive_and_wait();
    rates[number] = Measure(actor, seconds).steps_per_second;
    // The other may still be measured: it gets no free machine for the rest.
    for (++measured; measured < 2;) actor.Run();
  };
  std::thread second(act, 1);
  act(0);
  second.join();
  return {.steps_per_second = rates[0] + rates[1]};
}

Rate MeasureSplit(int width, int lstms, Split split, double seconds, std::size_t& weights) {
  if (split == Split::kTwoActors) return MeasureTwo(width, lstms, seconds, weights);
  Actor actor(width, lstms, split);
  return Measure(actor, seconds);
}

const char* NameOf(Split split) {
  switch (split) {
    case Split::kOneActor:
      return "one actor";
    case Split::kTwoActors:
      return "two actors";
    case Split::kStages:
      return "two stages";
    case Split::kHalves:
      break;
  }
  return "halves";
}

// (S - 1) / (T M + S - 1): the part of a pass in which a pipeline of S equal stages stands still.
double BubbleOf(const Config& config) {
  const double blocks = static_cast<double>(config.actors.unroll * config.actors.groups);
  return (kCoresUsed - 1) / (blocks + kCoresUsed - 1);
}

}  // namespace

Result MeasureParallel(const Site& site) {
  FlushDenormals();
  Result result;
  result.json["runs"] = Json::array();
  result.details =
      "Steps/s of a net \"linear W\" and so many LSTMs of width W on two cores, 32 envs x 5 "
      "steps (medians of rounds in turns):\n\n" +
      Head({"W", "LSTMs", "weights", "one actor", "two actors", "two stages", "halves",
            "stages / two actors", "stages idle"});
  const std::vector<int> widths =
      site.quick ? std::vector{128, 256} : std::vector{128, 256, 512, 1024, 2048, 4096};
  double best = 0;
  std::string best_at;
  for (const int lstms : {1, 2, 4}) {
    for (const int width : widths) {
      ThrowIfInterrupted(site.stop_fd);
      Tell(fmt::format("{} LSTMs of {}", lstms, width));
      // 1. The ways take turns.
      std::vector<double> rates[std::size(kSplits)], idles;
      std::size_t weights = 0;
      for (int round = 0; round < (site.quick || width > 2048 ? 1 : kParallelRounds); ++round) {
        for (const Split split : kSplits) {
          const Rate rate = MeasureSplit(width, lstms, split, site.quick ? 0.05 : 1.0, weights);
          rates[static_cast<std::size_t>(split)].push_back(rate.steps_per_second);
          if (split == Split::kStages) idles.push_back(rate.idle);
          result.json["runs"].push_back({{"width", width},
                                         {"lstms", lstms},
                                         {"split", NameOf(split)},
                                         {"steps_per_second", rate.steps_per_second},
                                         {"idle", rate.idle}});
        }
      }
      // 2. A line of the table.
      std::vector<std::string> cells = {Grouped(static_cast<std::uint64_t>(width)),
                                        std::to_string(lstms), Grouped(weights)};
      for (const auto& all : rates) cells.push_back(Rounded(Median(all)));
      const auto median = [&](Split split) {
        return Median(rates[static_cast<std::size_t>(split)]);
      };
      const double ratio = median(Split::kStages) / median(Split::kTwoActors);
      cells.push_back(fmt::format("{:.2f}", ratio));
      cells.push_back(fmt::format("{:.0f} %", 100 * Median(idles)));
      result.details += Line(cells);
      if (ratio > best) {
        best = ratio;
        best_at = fmt::format("{} LSTMs of {}", lstms, width);
      }
    }
  }
  const Config staged = ConfigOf(128, 2, Split::kStages);
  result.rows.push_back(
      {.what = fmt::format("Two stages beside two actors, widths 128 to {}, 1, 2 and 4 LSTMs: best "
                           "ratio",
                           widths.back()),
       .measured = fmt::format("{:.2f} × ({}); {}", best, best_at,
                               best >= 1 ? "stages win there" : "no crossover")});
  result.rows.push_back(
      {.what = "Bubble of a pass with equal stages, (S - 1) / (T M + S - 1)",
       .measured = fmt::format("{:.1f} %; idle times in the table below", 100 * BubbleOf(staged))});
  return result;
}

}  // namespace starling::bench
