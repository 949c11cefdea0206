// Builds the layers of a net from their specs: checks shapes, names parameters, fuses relus.
#pragma once

#include <memory>
#include <vector>

#include "net/layers/layer.h"
#include "net/model.h"

namespace starling::net {

template <class T>
using Layers = std::vector<std::unique_ptr<Layer<T>>>;

// Throws UserError if a layer does not fit the one below it, or if an array of the net would have
// 2^31 elements or more. Allocates nothing.
void CheckFits(const ModelSpec& spec, const std::vector<LayerSpec>& specs, const Batch& batch);

// `input` is the context of the first layer, without a name. The parameters are appended to its
// layout, bottom up. REQUIRES: CheckFits passed.
template <class T>
Layers<T> BuildLayers(const std::vector<LayerSpec>& specs, const LayerContext<T>& input);

}  // namespace starling::net
