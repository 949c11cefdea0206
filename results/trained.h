// The parameter layout of a configuration's net, and the trained net of a run directory or a
// checkpoint.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"
#include "learner/storage/checkpoint.h"
#include "net/parameters.h"

namespace starling::results {

// The layout of config's net on `env`, with running sums. Throws UserError if [net] does not fit.
net::ParameterLayout LayoutOf(const Config& config, const envs::EnvSpec& env);
// The same on config's env; of an external net, that of the file net.initial. Throws UserError also
// if the env is unknown, or the file holds no net.
net::ParameterLayout LayoutOf(const Config& config);

struct FoundCheckpoint {
  std::filesystem::path path;
  learner::Checkpoint checkpoint;
};

// Returns `target` if it is a checkpoint, or the newest good checkpoint of the run directory
// `target`. Throws UserError if it is neither, damaged, or cannot be read.
FoundCheckpoint FindCheckpoint(const std::filesystem::path& target);

struct Trained {
  Config config;  // of the run
  learner::Checkpoint checkpoint;
};

// FindCheckpoint with the configuration of the run, to play, with `overrides` ("env.key=value").
// Throws UserError also if the checkpoint holds another net than its configuration describes, or
// one that has learnt from other numbers, or an external one.
Trained LoadTrained(const std::filesystem::path& target,
                    const std::vector<std::string>& overrides = {});

struct TrainedPolicy {
  Config config;      // of the run
  envs::EnvSpec env;  // what its environment shows and takes
  std::filesystem::path path;
  learner::Checkpoint checkpoint;  // in it
};

// The same, to act where the environment need not be: without overrides its spaces are read from
// the checkpoint. One of an older program holds none, and its environment is asked.
TrainedPolicy LoadPolicy(const std::filesystem::path& target,
                         const std::vector<std::string>& overrides = {});

}  // namespace starling::results
