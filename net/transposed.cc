#include "net/transposed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "net/build_layers.h"

namespace starling::net {
namespace {

// `layers` see observations of `shape`.
std::string WhyTranspose(const Features& shape, const std::vector<PlannedLayer>& layers) {
  const bool convolves = !layers.empty() && IsOfPictures(layers[0].spec.kind);
  if (!convolves || !ChannelsComeFirst(shape)) return "";
  return fmt::format(
      "the net convolves {0}x{1} cells of {2} channels: if these are {1}x{2} cells of {0}, "
      "transpose the observation, for channels come last",
      shape.height, shape.width, shape.channels);
}

}  // namespace

bool ChannelsComeFirst(const Features& shape) {
  const bool square = shape.height < shape.width && shape.channels == shape.width;
  return square || 8 * shape.height <= std::min(shape.width, shape.channels);
}

std::string WhyTranspose(const ModelSpec& spec) {
  const std::vector<PlannedLayer> layers = PlanLayers(spec);
  if (!layers.empty()) {
    for (const PlannedLayer::Entry& entry : layers[0].entries) {
      const std::string why = WhyTranspose(entry.input, entry.layers);
      if (!why.empty()) return why;
    }
  }
  return WhyTranspose({spec.height, spec.width, spec.channels}, layers);
}

}  // namespace starling::net
