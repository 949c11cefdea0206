// The spaces of an environment as a line of text. A checkpoint holds it, so that a policy acts
// where its environment cannot run.
#pragma once

#include <string>
#include <string_view>

#include "core/config/config.h"
#include "envs/env.h"

namespace starling::envs {

// Observations and actions of `spec`, one line of JSON.
std::string SpacesText(const EnvSpec& spec);

// Returns SpecOf(config), whose SpacesText is `text`, without the environment. Throws
// std::runtime_error if `text` is damaged.
EnvSpec ReadSpaces(std::string_view text, const EnvConfig& config);

}  // namespace starling::envs
