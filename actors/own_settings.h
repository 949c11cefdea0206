// The settings that an actor has of its own, and those of a welcome that it refuses.
//
// The configuration of a welcome can name code of this machine: a plug-in, or a Python interpreter
// with a module. An actor runs it only for a learner that is proven: by the key that the actor was
// given, or by a socket that no other user could have opened. On plain loopback tcp any process of
// any user may listen where a learner was; from there an actor takes games that are bundled, and
// numbers, but no code and no file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace starling::actors {

// The keys that choose code of this machine; nullopt: not set here.
struct OwnEnv {
  std::optional<std::string> name{}, python{}, options{};
};

struct OwnSettings {
  std::optional<DeviceChoice> backend{};  // nullopt: actors.backend
  std::int64_t envs = 0;                  // 0: actors.envs_per_actor
  OwnEnv env{};                           // from the command line: replaces the learner's
  // Returns those of the run directory, for a learner that is not proven; may be empty.
  std::function<OwnEnv()> run_dir_env{};
};

// Reads "env.name=...", "env.python=...", "env.options=..." (--set). Throws UserError for another
// key or a wrong value.
OwnEnv ParseOwnEnv(const std::vector<std::string>& overrides);

void UseProcessor(Config& config);  // for net and environments

// The configuration of this actor. `proven`: see LearnerClient::proven. Throws UserError if its
// gradients would have too many samples, or if a learner that is not proven names code that nothing
// here names.
Config WithOwn(Config config, const OwnSettings& own, bool proven);

}  // namespace starling::actors
