// Measures the cost of an update: the optimizer's loop alone, and the whole way through one lane,
// beside a memcpy of as many bytes.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "bench/figure.h"
#include "bench/stats.h"
#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "learner/apply/lanes.h"
#include "learner/apply/optimizer.h"
#include "results/initial_net.h"
#include "wire/snapshot.h"

namespace starling::bench {
namespace {

constexpr double kWantedNs = 0.5;
constexpr double kLr = 1e-6;  // thousands of such updates leave the weights almost unchanged

using Floats = Buffer<float>;  // aligned to cache lines, as the lanes keep theirs

Floats Normals(std::size_t size, std::uint64_t seed) {
  RandomStream random(StreamId{.seed = seed});
  Floats values(size);
  for (float& value : values.span()) value = 0.01f * random.Normal();
  return values;
}

struct Timing {
  double median = 0, least = 0;  // ns per weight and update
};

// Repeats `work`, which updates `weights` weights.
template <class Work>
Timing TimePerWeight(std::size_t weights, double seconds, const Work& work) {
  const std::vector<double> times_ns = TimeManyNs(seconds, work);
  const auto n = static_cast<double>(weights);
  return {Median(times_ns) / n, Least(times_ns) / n};
}

// Copies `floats_moved` / 2 floats for each weight: half of the traffic is reads, half writes.
Timing TimeCopy(std::size_t weights, int floats_moved, double seconds) {
  const std::size_t size = weights * static_cast<std::size_t>(floats_moved) / 2;
  const Floats from = Normals(size, 1);
  Floats to(size);
  return TimePerWeight(weights, seconds, [&] {
    std::memcpy(to.data(), from.data(), size * sizeof(float));
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

learner::OptimizerSpec SpecOf(EpsilonPlace place) {
  return learner::MakeOptimizerSpec({.epsilon_place = place});
}

Timing TimeLoop(std::size_t weights, EpsilonPlace place, double seconds) {
  const learner::OptimizerSpec spec = SpecOf(place);
  const Floats gradient = Normals(weights, 2);
  Floats values = Normals(weights, 3), square_avg(weights);
  const std::span<float> state[] = {square_avg.span()};
  std::uint64_t step = 0;
  return TimePerWeight(weights, seconds, [&] {
    learner::ApplyUpdate(spec, learner::MakeStepSize(spec, kLr, 1, ++step), gradient.span(),
                         values.span(), state);
  });
}

// One lane with its snapshot in shared memory, and successive updates for it.
class LaneBench {
 public:
  LaneBench(std::size_t weights, EpsilonPlace place)
      : snapshot_("", weights, 1, 1),
        lanes_({.threads = 1, .optimizer = SpecOf(place), .size = weights},
               std::vector<float>(weights, 0.01f), {}, snapshot_, {.term = 1}, {}) {
    for (std::size_t i = 0; i < learner::kMaxUpdatesInLanes; ++i) {
      gradients_.push_back(Normals(weights, 4 + i));
      updates_.push_back(std::make_unique<learner::Update>());
    }
  }

  // Runs one update on an idle lane: wake-up, update, publication.
  void One() {
    Submit();
    while (!lanes_.Idle()) std::this_thread::yield();
  }

  // Keeps the lane's ring full, so that it never parks.
  void Stream(int updates) {
    for (int i = 0; i < updates; ++i) {
      while (lanes_.Submitted() - lanes_.Completed() >= learner::kMaxUpdatesInLanes) {
        std::this_thread::yield();
      }
      Submit();
    }
    while (!lanes_.Idle()) std::this_thread::yield();
  }

 private:
  void Submit() {
    const std::uint64_t version = lanes_.Submitted() + 1;
    const std::size_t i = version % learner::kMaxUpdatesInLanes;
    learner::Update& update = *updates_[i];
    update.version = version;
    update.gradients = {{.values = gradients_[i].span(), .weight = 1}};
    update.lr = kLr;
    update.optimizer_step = version;
    update.meta = {.term = 1, .version = version};
    if (!lanes_.Submit(&update)) throw std::runtime_error("the lane takes no update");
  }

  wire::SnapshotWriter snapshot_;
  std::vector<Floats> gradients_;
  std::vector<std::unique_ptr<learner::Update>> updates_;
  learner::Lanes lanes_;  // last: its thread reads the members above
};

// The timings of the cases with epsilon outside and inside of the root.
struct Both {
  Timing outside, inside;

  std::string Text(const Timing& copy) const {
    return fmt::format("{:.2f} / {:.2f} ns (memcpy {:.2f} ns)", outside.median, inside.median,
                       copy.median);
  }
  bool Holds() const { return outside.median <= kWantedNs && inside.median <= kWantedNs; }
};

Json JsonOf(const Timing& timing) {
  return {{"median_ns", timing.median}, {"least_ns", timing.least}};
}
Json JsonOf(const Both& both) {
  return {{"outside", JsonOf(both.outside)}, {"inside", JsonOf(both.inside)}};
}

}  // namespace

Result MeasureApply(const Site& site) {
  constexpr int kStream = 8;  // short enough that most blocks are not interrupted
  const double seconds = site.quick ? 0.1 : 2;
  const std::size_t n = results::InitialNetOf(LoadConfig(site.config)).layout.size();

  // 1. Measure. An update reads and writes weights and state and reads the gradient: five floats.
  // Publication writes a sixth; the weights that it copies are still in the nearest cache.
  const Timing copy5 = TimeCopy(n, 5, seconds), copy6 = TimeCopy(n, 6, seconds);
  const auto both = [](const auto& time) -> Both {
    return {time(EpsilonPlace::kOutside), time(EpsilonPlace::kInside)};
  };
  const Both loop = both([&](EpsilonPlace place) { return TimeLoop(n, place, seconds); });
  const Both one = both([&](EpsilonPlace place) {
    LaneBench lane(n, place);
    return TimePerWeight(n, seconds, [&] { lane.One(); });
  });
  const Both stream = both([&](EpsilonPlace place) {
    LaneBench lane(n, place);
    return TimePerWeight(n * kStream, seconds, [&] { lane.Stream(kStream); });
  });

  // 2. Report.
  const std::string wanted = fmt::format("≤ {} ns", kWantedNs);
  return {.rows = {{.what = fmt::format("RMSProp, {} weights, epsilon outside / inside, per weight "
                                        "and update: the loop alone",
                                        Grouped(n)),
                    .measured = loop.Text(copy5),
                    .wanted = wanted,
                    .holds = loop.Holds()},
                   {.what = "… through one lane to the published snapshot, lane kept busy",
                    .measured = stream.Text(copy6),
                    .wanted = wanted,
                    .holds = stream.Holds()},
                   {.what = "… from Submit to Completed, lane woken for each update",
                    .measured = one.Text(copy6)}},
          .json = {{"weights", n},
                   {"memcpy_20_bytes", JsonOf(copy5)},
                   {"memcpy_24_bytes", JsonOf(copy6)},
                   {"loop", JsonOf(loop)},
                   {"lane_busy", JsonOf(stream)},
                   {"lane_woken", JsonOf(one)}}};
}

}  // namespace starling::bench
