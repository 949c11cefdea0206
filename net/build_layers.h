// Plans the layers of a net, and builds them: checks shapes, fuses relus, names parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/layers/layer.h"
#include "net/model.h"

namespace starling::net {

template <class T>
using Layers = std::vector<std::unique_ptr<Layer<T>>>;

// A layer that is not built yet. A relu after a layer that can apply it is no layer of its own.
struct PlannedLayer {
  // Of several arrays that are observed together: its columns of an observation and of the output
  // of kEntries, its shape, and its layers, bottom up.
  struct Entry {
    std::string name;
    int from = 0, to = 0;
    Features input;
    std::vector<PlannedLayer> layers;
  };

  LayerSpec spec;
  bool relu = false;  // fused
  Features input, output;
  std::vector<Entry> entries{};  // of kEntries
  std::int64_t work() const;     // multiply-adds of a forward pass, for one sample
};

// Returns the layers bottom up. Throws UserError as LayersOf, or if a layer does not fit the one
// below it.
std::vector<PlannedLayer> PlanLayers(const ModelSpec& spec);

// Throws UserError if an array of the net would have 2^31 elements or more. Allocates nothing.
void CheckCounts(const ModelSpec& spec, const std::vector<PlannedLayer>& layers,
                 const Batch& batch);

// The zeros around the input of a convolution, a window or a residual layer.
PadShape PadOf(const LayerSpec& layer, const Features& input);

// Returns the names of the layers' parameters, each after `prefix`: "conv1", "fc1", "fc2" ... Those
// of layers without parameters mean nothing.
std::vector<std::string> LayerNames(const std::vector<PlannedLayer>& layers,
                                    const std::string& prefix);

// `context` is that of every layer, without input; its name comes before all names. The parameters
// are appended to its layout, bottom up.
template <class T>
Layers<T> BuildLayers(const std::vector<PlannedLayer>& layers, LayerContext<T> context);

}  // namespace starling::net
