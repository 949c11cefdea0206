#include "envs/registry.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/nearest.h"
#include "envs/catch.h"
#include "envs/dummy.h"
#include "envs/minatar_breakout.h"
#include "envs/names.h"
#include "envs/vec_env.h"

namespace starling::envs {
namespace {

struct Entry {
  const char* name;
  EnvSpec (*spec)();
  std::unique_ptr<VecEnv> (*make)(int num_envs, const EnvSeed& seed, const EnvOptions& options);
};

template <Game G>
std::unique_ptr<VecEnv> MakeVecGame(int num_envs, const EnvSeed& seed, const EnvOptions& options) {
  return std::make_unique<VecGame<G>>(num_envs, seed, options);
}

template <Game G>
constexpr Entry Row(const char* name) {
  return {name, G::Spec, MakeVecGame<G>};
}

// One line an env, sorted by name, which is also the name in its spec.
constexpr Entry kEnvs[] = {
    Row<Catch>("catch"),
    Row<Dummy>("dummy"),
    Row<MinatarBreakout>("minatar/breakout"),
};

const Entry& Find(const std::string& name) {
  for (const Entry& entry : kEnvs) {
    if (name == entry.name) return entry;
  }
  const std::vector<std::string> names = EnvNames();
  throw UserError(fmt::format("there is no env \"{}\"{} (the envs: {})", name,
                              DidYouMean(name, names), Listed(names)));
}

}  // namespace

std::vector<std::string> EnvNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kEnvs) names.emplace_back(entry.name);
  return names;
}

EnvSpec SpecOf(const std::string& name) { return Find(name).spec(); }

std::unique_ptr<VecEnv> MakeVecEnv(const std::string& name, int num_envs, const EnvSeed& seed,
                                   const EnvOptions& options) {
  return Find(name).make(num_envs, seed, options);
}

}  // namespace starling::envs
