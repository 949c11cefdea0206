#include "envs/registry.h"

#include "core/check.h"
#include "core/cuda/each.h"
#include "core/error.h"
#include "envs/cuda/device_game.h"
#include "envs/games/games.h"

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
std::unique_ptr<VecEnv> Make(const EnvConfig& config, int num_envs, const EnvSeed& seed, int steps,
                             Gpu& gpu) {
  return std::make_unique<DeviceGames<G, OnGpu>>(OnGpu{&gpu}, config, num_envs, seed, steps);
}

// kernels.cu has the code of these games.
#define STARLING_GAME(G, name) {name, Make<G>},
constexpr Entry kGames[] = {STARLING_GAMES(STARLING_GAME)};
#undef STARLING_GAME

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
