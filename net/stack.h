// The layers of a net as text: listed in the configuration, or implied by the kind of net.
//
//   "conv 16 3x3"      16 channels, kernel 3x3 (HEIGHTxWIDTH), stride 1, no padding
//   "conv 32 8x8/4"    the same with stride 4
//   "conv 16 3x3 same" zeros around the picture: as many cells as before, for stride 2 half as many
//   "max_pool 3x3/2"   the largest cell of each window, channel by channel; "same" as above
//   "residual 3x3"     x + conv(relu(conv(relu(x)))), both with as many channels as x and "same"
//   "linear 128"       fully connected; its input is flattened
//   "lstm 256", "gru 256"  its state lasts for the episode
//   "layer_norm"       over all features of a sample
//   "relu", "tanh"
//
// Where several arrays are observed together (entries), each may have layers of its own below all
// these: "image: conv 16 3x3, relu, linear 64, relu".
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/action_space.h"
#include "core/config/words.h"
#include "core/observation_entry.h"

namespace starling::net {

struct ModelSpec {
  NetKind kind = NetKind::kMinatar;          // not kAuto
  std::vector<std::int64_t> hidden = {128};  // widths; unused by kLayers
  int height = 1, width = 1, channels = 1;   // of an observation
  ActionSpace actions{};
  std::vector<std::string> layers{};  // used by kLayers
  Critic critic = Critic::kShared;
  Deviation deviation = Deviation::kParameter;
  std::vector<ObservationEntry> entries{};  // of an observation; none, or several
  std::vector<std::string> entry_layers{};  // "NAME: LAYER, LAYER ...": of some entries
};

// What the policy head is made for.
struct PolicySpec {
  ActionSpace actions;
  Deviation deviation = Deviation::kParameter;
};

enum class LayerKind : std::uint8_t {
  kEntries,  // the first, where several arrays are observed
  kConv,
  kMaxPool,
  kResidual,
  kLinear,
  kLstm,
  kGru,
  kLayerNorm,
  kRelu,
  kTanh
};
inline bool IsOfPictures(LayerKind kind) {  // with a kernel, or windows
  return kind == LayerKind::kConv || kind == LayerKind::kMaxPool || kind == LayerKind::kResidual;
}
inline bool IsRecurrent(LayerKind kind) {
  return kind == LayerKind::kLstm || kind == LayerKind::kGru;
}

struct LayerSpec {
  LayerKind kind = LayerKind::kLinear;
  std::string text;  // as the operator wrote it
  int width = 0;     // output channels of a convolution, else output features
  int kernel_height = 1, kernel_width = 1, stride = 1;  // of a convolution, or a window
  bool same = false;  // with zeros around the picture: an output of ceil(side / stride)
};

// Throws UserError, with the grammar, if `text`, which stands in `key`, is no layer.
LayerSpec ParseLayer(const std::string& text, const char* key = "net.layers");

// Returns the layers bottom up, above those of entries; their shapes are not checked (PlanLayers in
// build_layers.h). Throws UserError if a width is out of range or a layer cannot be parsed.
std::vector<LayerSpec> LayersOf(const ModelSpec& spec);
bool HasMemory(const ModelSpec& spec);  // whether a layer is recurrent

// The layers of one of spec.entries, bottom up.
struct EntryLayers {
  std::vector<LayerSpec> layers;
  bool listed = false;  // in spec.entry_layers
};
// Returns those of each entry: listed ones, or of a picture those that the kind of net has for
// pictures, or none. Throws UserError as LayersOf, or if a text names no entry, an entry is listed
// twice, or one of its layers is recurrent.
std::vector<EntryLayers> LayersOfEntries(const ModelSpec& spec);

}  // namespace starling::net
