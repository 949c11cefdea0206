// Measures the time from a push to fresh weights in another actor. A real learner runs in this
// process with an actor that pushes, idle actors, and a reader that waits for each new version: it
// polls the shared memory, or sleeps until the beacon wakes it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>

#include "actors/learner_client.h"
#include "bench/figure.h"
#include "bench/stats.h"
#include "bench/training_run.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "core/text.h"
#include "learner/learner.h"
#include "results/initial_net.h"
#include "wire/runtime_dir.h"

namespace starling::bench {
namespace {

constexpr double kWantedMs = 1;
constexpr int kIdleActors = 2;
constexpr std::chrono::microseconds kPause{200};  // between two pushes: all threads come to rest
constexpr std::uint64_t kFailed = std::numeric_limits<std::uint64_t>::max();

// An actor's link and its replica of the weights.
class LinkedActor {
 public:
  LinkedActor(const Site& site, const Config& config, const learner::InitialNet& net,
              const std::filesystem::path& run_dir)
      : client_(
            {.find_endpoint = [root = wire::RuntimeRoot(config.wire.runtime_dir),
                               run_dir] { return wire::RuntimeDir::Find(root, run_dir).endpoint; },
             .connect_timeout_s = 20,
             .stop_fd = site.stop_fd,
             .abandoned = {}}),
        weights_(net.layout.size()),
        samples_(static_cast<std::uint32_t>(config.samples_per_gradient())) {
    Expect(client_.Join() && client_.CheckNet(net.layout.fingerprint(), net.layout.size()));
  }

  std::uint64_t version() const { return meta_.version; }
  void Refresh(std::uint64_t at_least) { Expect(client_.Refresh(at_least, weights_, meta_)); }

  // Waits for a grant and its weights, then pushes. Returns the time at which the push began.
  std::int64_t Push() {
    const auto grant = client_.NextGrant();
    Expect(grant.has_value());
    Refresh(grant->version);
    std::this_thread::sleep_for(kPause);
    const std::span<float> gradient = client_.NextGradientSpace();
    std::ranges::fill(gradient, 1e-6f);
    const std::int64_t begin = SteadyClock().NowNs();
    Expect(client_.Push(*grant, meta_, meta_.version,
                        {.values = gradient, .norm = 1, .loss = {}, .samples = samples_}, {}));
    return begin;
  }

 private:
  void Expect(bool good) const {
    if (good) return;
    if (client_.state() == actors::ClientState::kStopped) throw Interrupted();
    throw std::runtime_error("an actor lost its learner: " + client_.text());
  }

  actors::LearnerClient client_;
  std::vector<float> weights_;
  std::uint32_t samples_;
  wire::SnapshotMeta meta_;
};

// A thread that keeps an actor at the newest version and records when it reached each.
class Watcher {
 public:
  Watcher(LinkedActor& actor, bool sleeps)
      : actor_(actor),
        sleeps_(sleeps),
        thread_([this](const std::stop_token& stop) { Watch(stop); }) {}
  // A sleeping thread notices it at the next version, or when its client ends.
  void Stop() { thread_.request_stop(); }

  // Waits until `version` or a newer one is read whole. Returns that time.
  std::int64_t SeenNs(std::uint64_t version) const {
    std::uint64_t seen = 0;
    while ((seen = seen_.load(std::memory_order_acquire)) < version) seen_.wait(seen);
    if (seen == kFailed) std::rethrow_exception(error_);
    return seen_ns_;
  }

 private:
  void Watch(const std::stop_token& stop) {
    try {
      while (!stop.stop_requested()) {
        const std::uint64_t before = actor_.version();
        actor_.Refresh(sleeps_ ? before + 1 : 0);
        if (actor_.version() > before) Tell(actor_.version());
      }
    } catch (...) {
      error_ = std::current_exception();
      Tell(kFailed);
    }
  }
  void Tell(std::uint64_t version) {
    seen_ns_ = SteadyClock().NowNs();
    seen_.store(version, std::memory_order_release);  // partner: the acquire load in SeenNs
    seen_.notify_one();
  }

  LinkedActor& actor_;
  const bool sleeps_;
  std::atomic<std::uint64_t> seen_{0};
  std::int64_t seen_ns_ = 0;  // written before seen_, read before the next push
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the members above
};

// Milliseconds of each push.
std::vector<double> Measure(LinkedActor& pusher, LinkedActor& reader, bool sleeps, int pushes) {
  std::vector<double> times;
  Watcher watcher(reader, sleeps);
  const auto push = [&] {
    const std::int64_t begin = pusher.Push();
    return static_cast<double>(watcher.SeenNs(pusher.version() + 1) - begin) / 1e6;
  };
  for (int i = 0; i < pushes; ++i) times.push_back(push());
  watcher.Stop();
  pusher.Push();  // wakes the watcher
  return times;
}

}  // namespace

Result MeasureLatency(const Site& site) {
  // 1. Start a learner, and actors that stay idle beside the pusher and the reader.
  const int pushes = site.quick ? 100 : 2000;
  const auto run_dir = site.scratch / "latency";
  std::filesystem::create_directories(run_dir);
  const Config config = LoadConfig(
      site.config, {fmt::format("actors.count={}", kIdleActors + 2), "actors.envs_per_actor=1",
                    "staleness.bound=unbounded", "staleness.deadline_s=60", "wire.timeout_s=60",
                    "checkpoint.every_steps=1_000_000_000", "optimizer.lr=1e-6"});
  const learner::InitialNet net = results::InitialNetOf(config);
  EventFd stop_learner;
  learner::Learner learner(config, net, {.run_dir = run_dir, .stop_fd = stop_learner.fd()});
  const std::jthread serving([&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] { stop_learner.Notify(); });
    try {
      learner.Run();
    } catch (const std::exception& error) {
      Tell(error.what());  // the actors lose it after wire.timeout_s
    }
  });
  LinkedActor pusher(site, config, net, run_dir), reader(site, config, net, run_dir);
  std::vector<std::unique_ptr<LinkedActor>> idle;
  for (int i = 0; i < kIdleActors; ++i) {
    idle.push_back(std::make_unique<LinkedActor>(site, config, net, run_dir));
  }

  // 2. Measure with a polling, then with a sleeping reader.
  Result result{.json = {{"weights", net.layout.size()}, {"pushes", pushes}}};
  for (const bool sleeps : {false, true}) {
    const std::vector<double> times = Measure(pusher, reader, sleeps, pushes);
    const double median = Percentile(times, 0.5), most = Percentile(times, 0.99);
    result.rows.push_back(
        {.what = sleeps ? "… the reader asleep until the beacon wakes it"
                        : fmt::format("From a push to fresh weights in another actor, {} weights, "
                                      "shared memory polled, p50 / p99 of {} pushes",
                                      Grouped(net.layout.size()), Rounded(pushes)),
         .measured = fmt::format("{:.2f} / {:.2f} ms", median, most),
         .wanted = fmt::format("p99 ≤ {:.0f} ms", kWantedMs),
         .holds = site.Judged(most <= kWantedMs)});
    result.json[sleeps ? "beacon" : "polled"] = {
        {"p50_ms", median}, {"p99_ms", most}, {"most_ms", Most(times)}};
  }
  return result;
}

}  // namespace starling::bench
