#include "bench/pushers.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "actors/rollout.h"
#include "bench/push_ways.h"
#include "core/clock.h"
#include "core/denormals.h"
#include "net/model.h"

namespace starling::bench {
namespace {

constexpr std::size_t kLastEpisodes = 100;

// One pusher: its reader of weights, and counts of its pushes and waits.
class Pusher {
 public:
  Pusher(PushWay& way, std::size_t who) : way_(way), who_(who), reader_(way.snapshot()) {}

  // Copies the newest weights; retries if the writer overtakes the copy.
  const wire::SnapshotMeta& Refresh(std::span<float> weights) {
    while (!reader_.Read(0, weights, meta_)) std::this_thread::yield();
    return meta_;
  }
  void Push(std::span<const float> gradient, std::uint32_t samples) {
    const std::int64_t begin = clock_.NowNs();
    const std::uint64_t version = way_.Push(who_, gradient, samples);
    staleness_ += version - 1 - meta_.version;
    waited_ns_ += clock_.NowNs() - begin;
    ++pushes_;
  }

  void Run(const std::function<void()>& work) {
    begin_ns_ = clock_.NowNs();
    work();
    end_ns_ = clock_.NowNs();
  }

  const wire::SnapshotMeta& meta() const { return meta_; }
  std::int64_t begin_ns() const { return begin_ns_; }
  std::int64_t end_ns() const { return end_ns_; }
  std::int64_t waited_ns() const { return waited_ns_; }
  std::uint64_t pushes() const { return pushes_; }
  std::uint64_t staleness() const { return staleness_; }  // of all pushes together
  // REQUIRES: the pusher's thread has ended, to read them.
  std::vector<std::pair<std::uint64_t, double>> episodes;  // version played on, return

 private:
  PushWay& way_;
  const std::size_t who_;
  wire::SnapshotReader reader_;
  const SteadyClock clock_;
  wire::SnapshotMeta meta_;
  std::int64_t begin_ns_ = 0, end_ns_ = 0, waited_ns_ = 0;
  std::uint64_t pushes_ = 0, staleness_ = 0;
};

// Prepares every pusher's work in a thread of its own, then runs all of it at once. Returns the
// speed of all pushers together.
using Work = std::function<void()>;
PushSpeed RunAll(std::vector<Pusher>& pushers, const std::function<Work(std::size_t)>& prepare) {
  // 1. All threads prepare; none starts before the last is ready.
  std::latch ready(static_cast<std::ptrdiff_t>(pushers.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < pushers.size(); ++i) {
    threads.emplace_back([&, i] {
      FlushDenormals();
      const Work work = prepare(i);
      ready.arrive_and_wait();
      pushers[i].Run(work);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // 2. Add up, from the first start to the last end.
  std::int64_t begin = pushers[0].begin_ns(), end = pushers[0].end_ns();
  double pushes = 0, staleness = 0, waited = 0, worked = 0;
  for (const Pusher& pusher : pushers) {
    begin = std::min(begin, pusher.begin_ns());
    end = std::max(end, pusher.end_ns());
    pushes += static_cast<double>(pusher.pushes());
    staleness += static_cast<double>(pusher.staleness());
    waited += static_cast<double>(pusher.waited_ns());
    worked += static_cast<double>(pusher.end_ns() - pusher.begin_ns());
  }
  return {.updates_per_second = pushes / static_cast<double>(end - begin) * 1e9,
          .staleness = staleness / pushes,
          .waiting = waited / worked};
}

std::vector<Pusher> MakePushers(PushWay& way, std::size_t count) {
  std::vector<Pusher> pushers;
  for (std::size_t i = 0; i < count; ++i) pushers.emplace_back(way, i);
  return pushers;
}

double MeanOfTheLast(const std::vector<Pusher>& pushers) {
  std::vector<std::pair<std::uint64_t, double>> all;
  for (const Pusher& pusher : pushers) {
    all.insert(all.end(), pusher.episodes.begin(), pusher.episodes.end());
  }
  std::ranges::stable_sort(all, {}, &std::pair<std::uint64_t, double>::first);
  const std::size_t n = std::min(all.size(), kLastEpisodes);
  if (n == 0) return 0;
  double sum = 0;
  for (const auto& [version, score] : std::span(all).last(n)) sum += score;
  return sum / static_cast<double>(n);
}

}  // namespace

PushSpeed MeasurePushes(std::string_view how, const Config& config, std::span<const float> weights,
                        const std::vector<std::vector<float>>& gradients, std::size_t count,
                        double seconds) {
  const auto way = MakePushWay(how, config, weights, count);
  std::vector<Pusher> pushers = MakePushers(*way, count);
  const SteadyClock clock;
  const auto samples = static_cast<std::uint32_t>(config.samples_per_gradient());
  return RunAll(pushers, [&](std::size_t i) -> Work {
    return [&, i, own = std::vector<float>(weights.size()),
            gradient = std::vector<float>(weights.size())]() mutable {
      const std::int64_t end = clock.NowNs() + static_cast<std::int64_t>(seconds * 1e9);
      for (std::size_t k = i; clock.NowNs() < end; ++k) {
        pushers[i].Refresh(own);
        std::ranges::copy(gradients[k % gradients.size()], gradient.begin());
        pushers[i].Push(gradient, samples);
      }
    };
  });
}

TrainedBy TrainByPushes(std::string_view how, const Config& config, std::size_t count) {
  const std::vector<float> initial =
      net::InitialParameters(actors::Rollout(config, 0, 1).layout(), config.run.seed);
  const auto way = MakePushWay(how, config, initial, count);
  std::vector<Pusher> pushers = MakePushers(*way, count);
  const auto samples = static_cast<std::uint64_t>(config.samples_per_gradient());
  const std::uint64_t gradients = (config.run.steps + samples - 1) / samples;
  std::atomic<std::uint64_t> begun{0};  // only counts, hence relaxed
  const PushSpeed speed = RunAll(pushers, [&](std::size_t i) -> Work {
    const auto rollout =
        std::make_shared<actors::Rollout>(config, static_cast<std::uint32_t>(i), 1);
    return [&, i, rollout, gradient = std::vector<float>(initial.size())]() mutable {
      Pusher& pusher = pushers[i];
      while (begun.fetch_add(1, std::memory_order_relaxed) < gradients) {
        const double entropy = pusher.Refresh(rollout->weights()).entropy;
        const auto done = rollout->Run(entropy, gradient);
        for (const auto& end : rollout->TakeEpisodes().ended) {
          pusher.episodes.emplace_back(pusher.meta().version, end.episode_return);
        }
        pusher.Push(gradient, done.samples);
      }
    };
  });
  return {.mean_return = MeanOfTheLast(pushers), .updates = gradients, .speed = speed};
}

}  // namespace starling::bench
