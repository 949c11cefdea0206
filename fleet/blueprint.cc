#include "fleet/blueprint.h"

#include "actors/rollout.h"
#include "envs/registry.h"
#include "net/model.h"

namespace starling::fleet {

learner::NetBlueprint BlueprintOf(const Config& config) {
  const auto backend = net::MakeCpuBackend();
  const auto model =
      net::MakeModel<float>(actors::ModelSpecOf(config, envs::SpecOf(config.env)), *backend, 1);
  return {.layout = model->layout(),
          .initial = net::InitialParameters(model->layout(), config.run.seed)};
}

}  // namespace starling::fleet
