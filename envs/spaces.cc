#include "envs/spaces.h"

#include <optional>
#include <stdexcept>

#include "envs/bridge/protocol.h"
#include "envs/frames.h"

namespace starling::envs {

// What a worker says of its envs has all of it but the name and the kind of bounds, which the
// configuration has.
std::string SpacesText(const EnvSpec& spec) { return WorkerSpecLine({.env = spec}); }

EnvSpec ReadSpaces(std::string_view text, const EnvConfig& config) {
  std::string mistake;
  std::optional<FrameSpec> spec = ReadWorkerSpec(text, config.name, mistake);
  if (!spec) {
    throw std::runtime_error("the spaces of " + config.name +
                             " are damaged: " + OneLine(text, 200));
  }
  if (spec->env.actions.box()) spec->env.actions.bounds = config.action_bounds;
  return spec->env;
}

}  // namespace starling::envs
