// Compares games on a GPU with the same games on the host: observations, rewards and ends of
// episodes, bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "bench/bare/report.h"
#include "core/action_space.h"
#include "core/gpu.h"
#include "core/memory.h"
#include "core/random.h"
#include "envs/registry.h"

namespace starling::bare {
namespace {

using envs::VecEnv;

constexpr int kTakeEvery = 16;  // steps between two TakeEpisodes

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

struct Seen {
  Seen(int envs, std::size_t row, Memory& memory)
      : observations(Size(envs) * row, memory),
        rewards(Size(envs), memory),
        terminals(Size(envs), memory) {}
  Buffer<float> observations;
  Buffer<float> rewards;
  Buffer<std::uint8_t> terminals;
};

// Two games of the same seed.
class Pair {
 public:
  Pair(const EnvConfig& config, int num_envs)
      : envs_(num_envs),
        gpu_(OpenGpu(0)),
        memory_(gpu_->memory()),
        host_(envs::MakeVecEnv(config, num_envs, kSeed)),
        device_(envs::MakeGpuEnv(config, num_envs, kSeed, kTakeEvery, *gpu_)),
        expected_(num_envs, row(), HostMemory()),
        fetched_(num_envs, row(), memory_.host_side()),
        there_(num_envs, row(), memory_),
        actions_(Size(num_envs) * width(), memory_.host_side()),
        actions_there_(actions_.size(), memory_) {}

  // Plays `steps` steps on both. Returns the first difference, or "".
  std::string Play(int steps) {
    if (std::string differs = Reset(); !differs.empty()) return differs;
    for (int step = 0; step < steps; ++step) {
      if (step == steps / 2) {
        if (std::string differs = Reset(); !differs.empty()) return "again: " + differs;
      }
      Step();
      const std::string differs = Difference();
      if (!differs.empty()) return fmt::format("step {}: {}", step, differs);
      if (step % kTakeEvery == kTakeEvery - 1 && !SameEpisodes()) {
        return fmt::format("the episodes that ended before step {}", step + 1);
      }
    }
    return "";
  }
  std::size_t episodes() const { return episodes_; }

 private:
  static constexpr envs::EnvSeed kSeed{.seed = 7, .slot = 1, .life = 2};

  std::size_t row() const { return host_->spec().row(); }
  std::size_t width() const { return Size(host_->spec().actions.width()); }

  std::string Reset() {
    host_->Reset(expected_.observations.span());
    device_->Reset(there_.observations.span());
    Fetch();
    return SameObservations();
  }

  void Step() {
    // Random actions, of those that the newest observations allow.
    const std::span<const float> seen = expected_.observations.span();
    for (std::size_t i = 0; i < Size(envs_); ++i) {
      const auto mask = seen.subspan(i * row(), row()).subspan(Size(host_->spec().obs_size()));
      RandomAction(host_->spec().actions, mask, random_,
                   actions_.span().subspan(i * width(), width()));
    }
    host_->Step(actions_.span(), expected_.observations.span(), expected_.rewards.span(),
                expected_.terminals.span());
    Write<std::int32_t>(memory_, actions_there_.span(), actions_.span());
    device_->Step(actions_there_.span(), there_.observations.span(), there_.rewards.span(),
                  there_.terminals.span());
    Fetch();
  }

  void Fetch() {
    Read<float>(memory_, fetched_.observations.span(), there_.observations.span());
    Read<float>(memory_, fetched_.rewards.span(), there_.rewards.span());
    Read<std::uint8_t>(memory_, fetched_.terminals.span(), there_.terminals.span());
    memory_.Wait();
  }

  std::string SameObservations() {
    const auto here = expected_.observations.span(), there = fetched_.observations.span();
    const auto [a, b] = std::ranges::mismatch(here, there);
    if (a == here.end()) return "";
    const auto at = static_cast<std::size_t>(a - here.begin());
    return fmt::format("env {}, number {} seen: {} on the host, {} on the GPU", at / row(),
                       at % row(), *a, *b);
  }

  std::string Difference() {
    for (std::size_t env = 0; env < Size(envs_); ++env) {
      const float here = expected_.rewards.span()[env], there = fetched_.rewards.span()[env];
      const int ended = expected_.terminals.span()[env], over = fetched_.terminals.span()[env];
      if (here != there || ended != over) {
        return fmt::format("env {}: reward {} and end {} on the host, {} and {} on the GPU", env,
                           here, ended, there, over);
      }
    }
    return SameObservations();
  }

  bool SameEpisodes() {
    std::vector<envs::EpisodeEnd> here, there;
    host_->TakeEpisodes(here);
    device_->TakeEpisodes(there);
    episodes_ += here.size();
    return std::ranges::equal(here, there, [](const auto& a, const auto& b) {
      return a.env == b.env && a.episode_return == b.episode_return && a.length == b.length &&
             a.end == b.end;
    });
  }

  const int envs_;
  std::unique_ptr<Gpu> gpu_;
  Memory& memory_;
  std::unique_ptr<VecEnv> host_, device_;
  Seen expected_, fetched_, there_;
  Buffer<std::int32_t> actions_, actions_there_;
  RandomStream random_{StreamId{.seed = 5}};
  std::size_t episodes_ = 0;
};

void Check(Report& report, const EnvConfig& config, bool quick) {
  constexpr int kLargePicture = 1000;  // floats in an observation
  const bool large = envs::SpecOf(config).obs_size() > kLargePicture;
  const int num_envs = quick ? 37 : large ? 101 : 1003;  // not a multiple of a block
  const int steps = quick ? 64 : 1024;
  const std::string name = fmt::format("games: {}, {} actions, {} envs x {} steps", config.name,
                                       NameOf(config.action_set), num_envs, steps);
  report.Check(name, [&]() -> Verdict {
    Pair pair(config, num_envs);
    const std::string differs = pair.Play(steps);
    return {differs.empty(),
            differs.empty() ? fmt::format("the same, {} episodes", pair.episodes()) : differs};
  });
}

}  // namespace

void CheckGames(Report& report, bool quick) {
  if (const GpuSearch found = FindGpus(); found.gpus.empty()) {
    return report.Skip("games: on a GPU", found.why_none);
  }
  for (const std::string& name : envs::EnvNames()) {
    EnvConfig full, minimal;
    full.name = minimal.name = name;
    minimal.action_set = ActionSet::kMinimal;
    Check(report, full, quick);
    if (envs::SpecOf(minimal).actions.values() < envs::SpecOf(full).actions.values()) {
      Check(report, minimal, quick);
    }
  }
}

}  // namespace starling::bare
