#include "fleet/blueprint.h"

#include "actors/rollout.h"
#include "envs/registry.h"
#include "net/model.h"

namespace starling::fleet {
namespace {

net::Initialisation InitOf(const NetConfig& net) {
  if (net.init == "kaiming") return net::Initialisation::kKaiming;
  return net.init == "fan_in" ? net::Initialisation::kFanIn : net::Initialisation::kOrthogonal;
}

}  // namespace

net::ParameterLayout LayoutOf(const Config& config) {
  const auto backend = net::MakeCpuBackend();
  const net::ModelSpec spec = actors::ModelSpecOf(config, envs::SpecOf(config.env));
  return net::MakeModel<float>(spec, *backend, {})->layout();
}

learner::NetBlueprint BlueprintOf(const Config& config) {
  learner::NetBlueprint net;
  net.layout = LayoutOf(config);
  net.initial = net::InitialParameters(net.layout, config.run.seed, InitOf(config.net));
  return net;
}

}  // namespace starling::fleet
