#include "results/initial_net.h"

#include "actors/rollout.h"
#include "envs/registry.h"
#include "net/model.h"
#include "results/trained.h"

namespace starling::results {

net::ParameterLayout LayoutOf(const Config& config) {
  const auto backend = net::MakeCpuBackend();
  const net::ModelSpec spec = actors::ModelSpecOf(config, envs::SpecOf(config.env));
  return net::MakeModel<float>(spec, *backend, {})->layout();
}

learner::InitialNet InitialNetOf(const Config& config) {
  learner::InitialNet net = InitialNetToResume(config);
  net.initial = config.run.init_from.empty()
                    ? net::InitialParameters(net.layout, config.run.seed, config.net.init)
                    : LoadFirstWeights(config).checkpoint.weights;
  return net;
}

learner::InitialNet InitialNetToResume(const Config& config) { return {LayoutOf(config), {}}; }

}  // namespace starling::results
