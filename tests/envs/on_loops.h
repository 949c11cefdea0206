// Games on a GPU made of loops (tests/support/fake_gpu.h), and a bench for envs of any GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/cuda/each.h"
#include "core/memory.h"
#include "envs/cuda/device_game.h"
#include "tests/envs/env_bench.h"
#include "tests/support/fake_gpu.h"

namespace starling::envs {

// The Device of DeviceGames.
struct OnLoops {
  FakeGpu* gpu;

  Memory& memory() const { return gpu->memory(); }
  template <class Body>
  void ForEachWarp(long long n, std::size_t bytes, const Body& body) const {
    gpu->Ask([=] {
      std::vector<std::byte> scratch(bytes);
      for (long long i = 0; i < n; ++i) {
        std::fill(scratch.begin(), scratch.end(), std::byte{0xa5});  // whatever was there before
        body(i, cuda::OneLane{}, scratch.data());
      }
    });
  }
};

template <Game G>
std::unique_ptr<VecEnv> MakeOnLoops(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                    int steps, Gpu& gpu) {
  return std::make_unique<DeviceGames<G, OnLoops>>(OnLoops{dynamic_cast<FakeGpu*>(&gpu)}, config,
                                                   num_envs, seed, steps);
}

// An env, the arrays that it works on in `gpu`, and their contents after every call.
struct OnGpuBench {
  OnGpuBench(Gpu& its_gpu, std::unique_ptr<VecEnv> its_env)
      : gpu(its_gpu),
        env(std::move(its_env)),
        actions_there(Words(env->spec(), envs()), gpu.memory()),
        seen_there(envs() * env->spec().row(), gpu.memory()),
        rewards_there(envs(), gpu.memory()),
        terminals_there(envs(), gpu.memory()),
        actions(actions_there.size(), host()),
        seen(seen_there.size(), host()),
        rewards(envs(), host()),
        terminals(envs(), host()) {
    env->Reset(seen_there.span());
    ReadBack();
  }

  // From the third time on it is the recording of the second that is played.
  void Step() {
    Write<std::int32_t>(gpu.memory(), actions_there.span(), actions.span());
    gpu.Repeat(recording, [&] {
      env->Step(actions_there.span(), seen_there.span(), rewards_there.span(),
                terminals_there.span());
    });
    ReadBack();
  }

  void ReadBack() {
    Read<float>(gpu.memory(), seen.span(), seen_there.span());
    Read<float>(gpu.memory(), rewards.span(), rewards_there.span());
    Read<std::uint8_t>(gpu.memory(), terminals.span(), terminals_there.span());
    gpu.memory().Wait();
  }

  std::size_t envs() const { return static_cast<std::size_t>(env->size()); }
  Memory& host() { return gpu.memory().host_side(); }

  Gpu& gpu;
  int recording = 0;  // its id
  std::unique_ptr<VecEnv> env;
  Buffer<std::int32_t> actions_there;
  Buffer<float> seen_there, rewards_there;
  Buffer<std::uint8_t> terminals_there;
  Buffer<std::int32_t> actions;  // to be filled by the caller
  Buffer<float> seen, rewards;
  Buffer<std::uint8_t> terminals;
};

}  // namespace starling::envs
