// Every bundled environment by name: an explicit table in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "envs/env.h"

namespace starling::envs {

std::vector<std::string> EnvNames();

// Throws UserError naming the nearest known name. Cheap: used to check a config before anything starts.
EnvSpec SpecOf(const std::string& name);

// B = `num_envs` >= 1 envs. Throws UserError as SpecOf.
std::unique_ptr<VecEnv> MakeVecEnv(const std::string& name, int num_envs, const EnvSeed& seed,
                                   const EnvOptions& options = {});

}  // namespace starling::envs
