#include "envs/gpu.h"

#include "core/check.h"
#include "core/cuda/each.h"
#include "core/error.h"
#include "envs/cuda/device_game.h"
#include "envs/games/arcade_pong.h"
#include "envs/games/catch.h"
#include "envs/games/dummy.h"
#include "envs/games/memory_recall.h"
#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "envs/games/minatar_freeway.h"
#include "envs/games/minatar_seaquest.h"
#include "envs/games/minatar_space_invaders.h"
#include "envs/registry.h"

namespace starling::envs {
namespace {

struct OnGpu {
  Gpu* gpu;
  Memory& memory() const { return gpu->memory(); }
  template <class Body>
  void ForEachWarp(long long n, std::size_t bytes, const Body& body) const {
    cuda::ForEachWarp(gpu->stream(), n, bytes, body);
  }
};

struct Entry {
  const char* name;
  std::unique_ptr<VecEnv> (*make)(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                  int steps, Gpu& gpu);
};

template <Game G>
constexpr Entry Row(const char* name) {
  return {name,
          [](const EnvConfig& config, int num_envs, const EnvSeed& seed, int steps,
             Gpu& gpu) -> std::unique_ptr<VecEnv> {
            return std::make_unique<DeviceGames<G, OnGpu>>(OnGpu{&gpu}, config, num_envs, seed,
                                                           steps);
          }};
}

// The games of registry.cc; kernels.cu has their code.
constexpr Entry kGames[] = {
    Row<ArcadePong>("arcade/pong"),
    Row<Catch>("catch"),
    Row<Dummy>("dummy"),
    Row<MemoryRecall>("memory/recall"),
    Row<MinatarAsterix>("minatar/asterix"),
    Row<MinatarBreakout>("minatar/breakout"),
    Row<MinatarFreeway>("minatar/freeway"),
    Row<MinatarSeaquest>("minatar/seaquest"),
    Row<MinatarSpaceInvaders>("minatar/space_invaders"),
};

}  // namespace

std::unique_ptr<VecEnv> MakeGpuEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   int steps, Gpu& gpu) {
  if (const std::string why = WhyNotOnGpu(config); !why.empty()) throw UserError(why);
  SpecOf(config);  // throws as MakeVecEnv
  for (const Entry& game : kGames) {
    if (config.name == game.name) return game.make(config, num_envs, seed, steps, gpu);
  }
  CHECK(false, "{} has no line in the table", config.name);
}

}  // namespace starling::envs
