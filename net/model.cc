#include "net/model.h"

#include "core/check.h"
#include "net/build_layers.h"
#include "net/part.h"
#include "net/two_nets.h"

namespace starling::net {

template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend,
                                    const Batch& batch) {
  CHECK(batch.envs >= 1 && batch.steps >= 1, "{} envs x {} steps", batch.envs, batch.steps);
  const PartSpec whole = WholeNet(spec);
  CheckCounts(spec, whole.layers, batch);
  if (spec.critic == Critic::kSeparate) return std::make_unique<TwoNets<T>>(whole, backend, batch);
  return std::make_unique<Part<T>>(whole, backend, batch);
}

template std::unique_ptr<Model<float>> MakeModel(const ModelSpec&, Backend<float>&, const Batch&);
template std::unique_ptr<Model<double>> MakeModel(const ModelSpec&, Backend<double>&, const Batch&);

}  // namespace starling::net
