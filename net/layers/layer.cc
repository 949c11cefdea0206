#include "net/layers/layer.h"

namespace starling::net {

WeightAndBias::WeightAndBias(ParameterLayout& layout, const std::string& name,
                             std::vector<std::int64_t> shape) {
  const std::int64_t out = shape.back();
  weight = layout.Add(name + ".weight", std::move(shape)).offset;
  bias = layout.Add(name + ".bias", {out}).offset;
}

}  // namespace starling::net
