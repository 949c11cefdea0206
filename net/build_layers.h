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
void CheckFits(const ModelSpec& spec, const Batch& batch);

// REQUIRES: CheckFits(spec, batch) passed. Appends the parameters to `layout`, bottom up.
template <class T>
Layers<T> BuildLayers(const ModelSpec& spec, Backend<T>& backend, const Batch& batch,
                      ParameterLayout& layout);

}  // namespace starling::net
