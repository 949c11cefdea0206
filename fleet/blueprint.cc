#include "fleet/blueprint.h"

#include "actors/rollout.h"
#include "envs/registry.h"
#include "net/model.h"

namespace starling::fleet {

net::ParameterLayout LayoutOf(const Config& config) {
  const auto backend = net::MakeCpuBackend();
  const net::ModelSpec spec = actors::ModelSpecOf(config, envs::SpecOf(config.env));
  return net::MakeModel<float>(spec, *backend, 1)->layout();
}

learner::NetBlueprint BlueprintOf(const Config& config) {
  learner::NetBlueprint net;
  net.layout = LayoutOf(config);
  net.initial = net::InitialParameters(net.layout, config.run.seed);
  return net;
}

}  // namespace starling::fleet
