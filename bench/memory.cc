// Measures the peak memory of learner and actors (VmHWM: resident, shared memory included), read a
// hundred times a second during a run.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/config/config.h"
#include "core/text.h"
#include "learner/apply/optimizer.h"
#include "results/initial_net.h"
#include "results/summary.h"
#include "wire/snapshot.h"

namespace starling::bench {
namespace {

constexpr int kMemoryActors = 2;
constexpr double kActorLimitMb = 150;
constexpr double kLearnerRoomMb = 64;

// Returns the value of `key` in a file of "Key: value" lines, or "".
std::string Field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Keeps the largest peak of each kind of child of `supervisor`.
class PeakWatch {
 public:
  void Check(int supervisor) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", supervisor));
    for (int pid = 0; children >> pid;) {
      const std::string path = fmt::format("/proc/{}/status", pid);
      // The kernel cuts the name after 15 characters, which is still different for the two kinds.
      const std::string name = Field(path, "Name");
      const std::string peak = Field(path, "VmHWM");  // "12345 kB"
      if (!name.starts_with("starling-") || peak.empty()) continue;
      double& mb = peaks_[name.starts_with("starling-a") ? "actor" : "learner"];
      mb = std::max(mb, std::stod(peak) * 1024 / 1e6);
    }
  }
  double Mb(const std::string& kind) const {
    const auto peak = peaks_.find(kind);
    if (peak == peaks_.end()) throw std::runtime_error("no " + kind + " was seen in /proc");
    return peak->second;
  }

 private:
  std::map<std::string, double> peaks_;
};

struct LearnerLimit {
  std::size_t floats = 0, slots = 0;
  double weights_mb = 0, gradients_mb = 0;
  double Mb() const { return weights_mb + kLearnerRoomMb + gradients_mb; }
};

// The limit allows for weights, optimizer state and snapshots; the gradient buffers of all actors;
// a checkpoint being written and one waiting.
LearnerLimit LimitOf(const Config& config) {
  LearnerLimit limit;
  limit.floats = results::InitialNetOf(config).layout.size();
  limit.slots = learner::MakeOptimizerSpec(config.optimizer).slots.size();
  const double vector_mb = 4.0 * static_cast<double>(limit.floats) / 1e6;
  const auto slots = static_cast<double>(limit.slots);
  limit.weights_mb = vector_mb * (static_cast<double>(wire::kSnapshotSlots) + 1 + slots);
  const auto buffers = static_cast<double>(kMemoryActors * config.updates.in_flight);
  limit.gradients_mb = vector_mb * (buffers + 2 * (1 + slots));
  return limit;
}

}  // namespace

Result MeasureMemory(const Site& site) {
  const LearnerLimit limit = LimitOf(LoadConfig(site.config));
  PeakWatch peaks;
  const TrainingRun run(
      site,
      {.name = "memory",
       .overrides = {fmt::format("actors.count={}", kMemoryActors), "checkpoint.every_steps=50_000",
                     fmt::format("run.steps={}", site.quick ? 60'000 : 600'000)},
       .watch = [&](int supervisor) { peaks.Check(supervisor); }});
  const double actor_mb = peaks.Mb("actor"), learner_mb = peaks.Mb("learner");
  const Row actor{.what = "Peak memory of an actor",
                  .measured = fmt::format("{:.0f} MB", actor_mb),
                  .wanted = "≤ 150 MB",
                  .holds = actor_mb <= kActorLimitMb};
  const Row learner{.what = fmt::format("Peak memory of the learner, {} actors", kMemoryActors),
                    .measured = fmt::format("{:.0f} MB", learner_mb),
                    .wanted = fmt::format(
                        "≤ {:.0f} MB: 4 bytes × {} × (3 snapshots + weights + {} slot) + 64 MB + "
                        "{:.0f} MB of gradients and checkpoints",
                        limit.Mb(), Grouped(limit.floats), limit.slots, limit.gradients_mb),
                    .holds = learner_mb <= limit.Mb()};
  const nlohmann::ordered_json json{{"actor_mb", actor_mb},
                                    {"actor_limit_mb", kActorLimitMb},
                                    {"learner_mb", learner_mb},
                                    {"learner_limit_mb", limit.Mb()},
                                    {"gradients_mb", limit.gradients_mb}};
  return {.rows = {actor, learner}, .json = json.dump()};
}

}  // namespace starling::bench
