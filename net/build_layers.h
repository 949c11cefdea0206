// From the names of layers to layers: names, shapes, what fits on what.
#pragma once

#include <memory>
#include <vector>

#include "net/layers/layer.h"
#include "net/model.h"

namespace starling::net {

template <class T>
using Layers = std::vector<std::unique_ptr<Layer<T>>>;

// Throws UserError if a layer does not fit what is below it or an array of the net is too large to be
// counted as int. Allocates nothing.
void CheckFits(const ModelSpec& spec, const Batch& batch);

// Of a spec that fits. Appends the parameters to `layout`, bottom up.
template <class T>
Layers<T> BuildLayers(const ModelSpec& spec, Backend<T>& backend, const Batch& batch,
                      ParameterLayout& layout);

}  // namespace starling::net
