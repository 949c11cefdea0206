// Measures the cost of an update: the optimizer's loop alone, and the whole way through one lane,
// beside a memcpy of as many bytes.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "bench/figure.h"
#include "bench/stats.h"
#include "core/config/config.h"
#include "core/random.h"
#include "core/text.h"
#include "learner/apply/lanes.h"
#include "learner/apply/optimizer.h"
#include "results/initial_net.h"
#include "results/summary.h"
#include "wire/snapshot.h"

namespace starling::bench {
namespace {

constexpr double kWantedNs = 0.5;
constexpr double kLr = 1e-6;  // thousands of such updates leave the weights almost unchanged

// Floats on cache lines, as the lanes keep theirs.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::size_t size) : lines_((size + 15) / 16), size_(size) {}
  std::span<float> span() { return {reinterpret_cast<float*>(lines_.data()), size_}; }

 private:
  struct alignas(64) Line {
    float floats[16] = {};
  };
  std::vector<Line> lines_;
  std::size_t size_;
};

void FillNormal(std::span<float> values, std::uint64_t seed) {
  RandomStream random(StreamId{.seed = seed});
  for (float& value : values) value = 0.01f * random.Normal();
}

struct Timing {
  double median = 0, least = 0;  // ns per weight and update
};

Timing PerWeight(const std::vector<double>& times_ns, double weights) {
  return {Median(times_ns) / weights, Least(times_ns) / weights};
}

// Copies `floats_moved` / 2 floats for each weight: half of the traffic is reads, half writes.
Timing TimeCopy(std::size_t weights, int floats_moved, double seconds) {
  const std::size_t size = weights * static_cast<std::size_t>(floats_moved) / 2;
  AlignedFloats from(size), to(size);
  FillNormal(from.span(), 1);
  return PerWeight(TimeManyNs(seconds,
                              [&] {
                                std::memcpy(to.span().data(), from.span().data(),
                                            size * sizeof(float));
                                asm volatile("" : : "r"(to.span().data()) : "memory");
                              }),
                   static_cast<double>(weights));
}

learner::OptimizerSpec SpecOf(bool inside) {
  return learner::MakeOptimizerSpec(
      {.epsilon_place = inside ? EpsilonPlace::kInside : EpsilonPlace::kOutside});
}

Timing TimeLoop(std::size_t weights, bool inside, double seconds) {
  const learner::OptimizerSpec spec = SpecOf(inside);
  AlignedFloats gradient(weights), values(weights), square_avg(weights);
  FillNormal(gradient.span(), 2);
  FillNormal(values.span(), 3);
  const std::span<float> state[] = {square_avg.span()};
  std::uint64_t step = 0;
  return PerWeight(TimeManyNs(seconds,
                              [&] {
                                learner::ApplyUpdate(spec,
                                                     learner::MakeStepSize(spec, kLr, 1, ++step),
                                                     gradient.span(), values.span(), state);
                              }),
                   static_cast<double>(weights));
}

// One lane with its snapshot in shared memory, and successive updates for it.
class LaneBench {
 public:
  LaneBench(std::size_t weights, bool inside)
      : snapshot_("", weights, 1, 1),
        lanes_({.threads = 1, .optimizer = SpecOf(inside), .size = weights},
               std::vector<float>(weights, 0.01f), {}, snapshot_, {.term = 1}, {}) {
    for (std::size_t i = 0; i < learner::kMaxUpdatesInLanes; ++i) {
      gradients_.emplace_back(weights);
      FillNormal(gradients_.back().span(), 4 + i);
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
  std::vector<AlignedFloats> gradients_;
  std::vector<std::unique_ptr<learner::Update>> updates_;
  learner::Lanes lanes_;  // last: its thread reads the members above
};

struct LaneTiming {
  Timing one, stream;
};

LaneTiming TimeLane(std::size_t weights, bool inside, double seconds) {
  constexpr int kStream = 8;  // short enough that most blocks are not interrupted
  LaneBench lane(weights, inside);
  const auto n = static_cast<double>(weights);
  return {
      .one = PerWeight(TimeManyNs(seconds, [&] { lane.One(); }), n),
      .stream = PerWeight(TimeManyNs(seconds, [&] { lane.Stream(kStream); }), n * double{kStream})};
}

std::string Text(const Timing& outside, const Timing& inside, const Timing& copy) {
  return fmt::format("{:.2f} / {:.2f} ns (memcpy {:.2f} ns)", outside.median, inside.median,
                     copy.median);
}

nlohmann::ordered_json TimingJson(const Timing& timing) {
  return {{"median_ns", timing.median}, {"least_ns", timing.least}};
}

}  // namespace

Result MeasureApply(const Site& site) {
  const double seconds = site.quick ? 0.1 : 2;
  const std::size_t n = results::InitialNetOf(LoadConfig(site.config)).layout.size();

  // An update reads and writes weights and state and reads the gradient: five floats. Publication
  // writes a sixth; the weights that it copies are still in the nearest cache.
  const Timing copy5 = TimeCopy(n, 5, seconds), copy6 = TimeCopy(n, 6, seconds);
  const Timing loop_out = TimeLoop(n, false, seconds), loop_in = TimeLoop(n, true, seconds);
  const LaneTiming lane_out = TimeLane(n, false, seconds), lane_in = TimeLane(n, true, seconds);

  const std::string wanted = "≤ 0.5 ns";
  const auto holds = [](const Timing& a, const Timing& b) {
    return a.median <= kWantedNs && b.median <= kWantedNs;
  };
  const std::string what = fmt::format(
      "RMSProp, {} weights, epsilon outside / inside, per weight and update", Grouped(n));
  const Row loop{.what = what + ": the loop alone",
                 .measured = Text(loop_out, loop_in, copy5),
                 .wanted = wanted,
                 .holds = holds(loop_out, loop_in)};
  const Row stream{.what = "… through one lane to the published snapshot, lane kept busy",
                   .measured = Text(lane_out.stream, lane_in.stream, copy6),
                   .wanted = wanted,
                   .holds = holds(lane_out.stream, lane_in.stream)};
  const Row one{.what = "… from Submit to Completed, lane woken for each update",
                .measured = Text(lane_out.one, lane_in.one, copy6)};
  const nlohmann::ordered_json json{
      {"weights", n},
      {"memcpy_20_bytes", TimingJson(copy5)},
      {"memcpy_24_bytes", TimingJson(copy6)},
      {"loop", {{"outside", TimingJson(loop_out)}, {"inside", TimingJson(loop_in)}}},
      {"lane_busy",
       {{"outside", TimingJson(lane_out.stream)}, {"inside", TimingJson(lane_in.stream)}}},
      {"lane_woken", {{"outside", TimingJson(lane_out.one)}, {"inside", TimingJson(lane_in.one)}}}};
  return {.rows = {loop, stream, one}, .json = json.dump()};
}

}  // namespace starling::bench
