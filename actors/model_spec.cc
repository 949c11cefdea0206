#include "actors/model_spec.h"

namespace starling::actors {

net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env) {
  return {.kind = config.net.kind,
          .hidden = config.net.hidden,
          .height = env.height,
          .width = env.width,
          .channels = env.channels,
          .actions = env.actions,
          .layers = config.net.layers,
          .critic = config.net.critic,
          .deviation = config.net.deviation,
          .entries = env.entries,
          .entry_layers = config.net.entries};
}

}  // namespace starling::actors
