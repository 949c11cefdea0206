// Bundled games on a GPU beside the same on the host: observations, rewards and ends of episodes,
// bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/action_space.h"
#include "core/memory.h"
#include "core/random.h"
#include "envs/registry.h"
#include "tools/doctor/checks.h"

namespace starling::doctor {
namespace {

using envs::VecEnv;

constexpr int kTakeEvery = 16;  // steps between two QueueEpisodes
constexpr envs::EnvSeed kSeed{.seed = 7, .slot = 1, .life = 2};

bool SameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

struct Seen {
  Seen(std::size_t envs, std::size_t row, Memory& memory)
      : observations(envs * row, memory), rewards(envs, memory), terminals(envs, memory) {}
  Buffer<float> observations;  // (envs, row)
  Buffer<float> rewards;
  Buffer<std::uint8_t> terminals;
};

// The same games twice: on the host and on a GPU.
class Pair {
 public:
  Pair(std::unique_ptr<VecEnv> host, std::unique_ptr<VecEnv> device, Memory& memory)
      : memory_(memory),
        host_(std::move(host)),
        device_(std::move(device)),
        expected_(envs(), row(), HostMemory()),
        there_(envs(), row(), memory),
        fetched_(envs(), row(), memory.host_side()),
        actions_(envs() * width(), memory.host_side()),
        actions_there_(actions_.size(), memory) {}

  // Plays `steps` steps on both, and resets them in the middle. Returns the first difference, or
  // "".
  std::string Play(int steps) {
    for (int step = 0; step < steps; ++step) {
      if (step == 0 || step == steps / 2) {
        if (std::string differs = Reset(); !differs.empty()) {
          return fmt::format("reset before step {}: {}", step, differs);
        }
      }
      Step();
      if (std::string differs = Difference(); !differs.empty()) {
        return fmt::format("step {}: {}", step, differs);
      }
      if (step % kTakeEvery == kTakeEvery - 1 && !SameEpisodes()) {
        return fmt::format("the episodes that ended before step {}", step + 1);
      }
    }
    return "";
  }
  std::size_t episodes() const { return episodes_; }  // compared

 private:
  std::size_t envs() const { return static_cast<std::size_t>(host_->size()); }
  std::size_t row() const { return host_->spec().row(); }
  std::size_t width() const { return static_cast<std::size_t>(host_->spec().actions.width()); }

  std::string Reset() {
    host_->Reset(expected_.observations.span());
    device_->Reset(there_.observations.span());
    Fetch();
    return SameObservations();
  }

  void Step() {
    // Random actions, of those that the newest observations allow.
    const std::span<const float> seen = expected_.observations.span();
    const std::size_t before_mask = static_cast<std::size_t>(host_->spec().obs_size());
    for (std::size_t i = 0; i < envs(); ++i) {
      RandomAction(host_->spec().actions, seen.subspan(i * row(), row()).subspan(before_mask),
                   random_, actions_.span().subspan(i * width(), width()));
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
    const auto [a, b] = std::ranges::mismatch(here, there, SameBits);
    if (a == here.end()) return "";
    const auto at = static_cast<std::size_t>(a - here.begin());
    return fmt::format("env {}, number {} seen: {} on the host, {} on the GPU", at / row(),
                       at % row(), *a, *b);
  }

  std::string Difference() {
    for (std::size_t env = 0; env < envs(); ++env) {
      const float here = expected_.rewards.span()[env], there = fetched_.rewards.span()[env];
      const int ended = expected_.terminals.span()[env], over = fetched_.terminals.span()[env];
      if (!SameBits(here, there) || ended != over) {
        return fmt::format("env {}: reward {} and end {} on the host, {} and {} on the GPU", env,
                           here, ended, there, over);
      }
    }
    return SameObservations();
  }

  bool SameEpisodes() {
    std::vector<envs::EpisodeEnd> here, there;
    host_->TakeEpisodes(here);
    device_->QueueEpisodes();
    memory_.Wait();
    const std::uint64_t untold_before = device_->untold();
    device_->TakeEpisodes(there);
    episodes_ += here.size();
    // The device tells the newest, and the number of the others.
    const std::uint64_t untold = device_->untold() - untold_before;
    return here.size() == there.size() + untold &&
           std::ranges::equal(std::span(here).subspan(untold), there);
  }

  Memory& memory_;
  std::unique_ptr<VecEnv> host_, device_;
  Seen expected_, there_, fetched_;
  Buffer<std::int32_t> actions_, actions_there_;
  RandomStream random_{StreamId{.seed = 5}};
  std::size_t episodes_ = 0;
};

Check GameCheck(const EnvConfig& config, int gpu_index, Sizes sizes) {
  constexpr int kLargePicture = 1000;  // floats in an observation
  const bool small = sizes == Sizes::kSmall;
  const bool picture = envs::SpecOf(config).obs_size() > kLargePicture;
  const int num_envs = small ? 37 : picture ? 101 : 1003;  // not a multiple of a block
  const int steps = small ? 64 : 1024;
  const char* const actions = config.action_set == ActionSet::kMinimal ? ", minimal actions" : "";
  return {config.name + actions, [=] {
            const auto gpu = OpenGpu(gpu_index);
            return CompareGames(config, num_envs, steps, *gpu, envs::MakeGpuEnv);
          }};
}

}  // namespace

Verdict CompareGames(const EnvConfig& config, int num_envs, int steps, Gpu& gpu,
                     const MakeGames& make) {
  Pair pair(envs::MakeVecEnv(config, num_envs, kSeed),
            make(config, num_envs, kSeed, kTakeEvery, gpu), gpu.memory());
  const std::string differs = pair.Play(steps);
  return {.agrees = differs.empty(),
          .text = differs.empty() ? fmt::format("{} envs x {} steps, {} episodes", num_envs, steps,
                                                pair.episodes())
                                  : differs,
          .numbers = {{"envs", num_envs}, {"steps", steps}, {"episodes", pair.episodes()}}};
}

std::vector<CheckGroup> GameGroups(const Machine& machine, Sizes sizes) {
  std::vector<CheckGroup> groups;
  for (int index = 0; index < GpuCount(machine); ++index) {
    CheckGroup group{.kind = "games", .device = GpuName(machine, index)};
    for (const std::string& name : envs::EnvNames()) {
      EnvConfig full, minimal;
      full.name = minimal.name = name;
      minimal.action_set = ActionSet::kMinimal;
      group.checks.push_back(GameCheck(full, index, sizes));
      if (envs::SpecOf(minimal).actions.values() < envs::SpecOf(full).actions.values()) {
        group.checks.push_back(GameCheck(minimal, index, sizes));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace starling::doctor
