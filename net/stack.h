// The layers of a net, from their names: those that a configuration lists, or those of a kind.
//
//   "conv 16 3x3"      16 channels, kernel 3x3 (HEIGHTxWIDTH), stride 1, no padding
//   "conv 32 8x8/4"    the same with stride 4
//   "linear 128"       fully connected; a picture below it is flattened
//   "lstm 256"         with a state that lives as long as the episode
//   "layer_norm"       over all features of a sample
//   "relu", "tanh"
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace starling::net {

struct ModelSpec {
  std::string kind = "minatar";              // of Kinds() in stack.cc, or "layers"
  std::vector<std::int64_t> hidden = {128};  // of every other kind
  int height = 1, width = 1, channels = 1;   // observation
  int num_actions = 1;
  std::vector<std::string> layers{};  // of kind "layers"
};

enum class LayerKind : std::uint8_t { kConv, kLinear, kLstm, kLayerNorm, kRelu, kTanh };

struct LayerSpec {
  LayerKind kind = LayerKind::kLinear;
  std::string text;  // as written
  int width = 0;     // channels of a convolution, or features
  int kernel_height = 1, kernel_width = 1, stride = 1;
};

// Throws UserError that names what can be written.
LayerSpec ParseLayer(const std::string& text);

// Bottom up, shapes not yet looked at. Throws UserError if the kind is unknown, a width is out of
// range or a layer cannot be parsed.
std::vector<LayerSpec> LayersOf(const ModelSpec& spec);

}  // namespace starling::net
