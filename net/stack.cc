#include "net/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/error.h"

namespace starling::net {
namespace {

constexpr int kWidest = 65'536, kLargestKernel = 256;
constexpr const char* kGrammar =
    "use \"conv CHANNELS HxW\" or \"conv CHANNELS HxW/STRIDE\", \"linear WIDTH\", \"lstm WIDTH\", "
    "\"layer_norm\", \"relu\" or \"tanh\"";

// A kind of net: convolutions, then the hidden layers of net.hidden, then perhaps an lstm.
struct Kind {
  NetKind kind;
  std::vector<const char*> convs;
  bool lstm = false;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      // Young and Tian 2019.
      {NetKind::kMinatar, {"conv 16 3x3"}},
      // Mnih et al. 2016: A3C with hidden = [256], and A3C LSTM.
      {NetKind::kAtari, {"conv 16 8x8/4", "conv 32 4x4/2"}},
      {NetKind::kAtariLstm, {"conv 16 8x8/4", "conv 32 4x4/2"}, true},
      // Mnih et al. 2015: DQN with hidden = [512].
      {NetKind::kNature, {"conv 32 8x8/4", "conv 64 4x4/2", "conv 64 3x3"}},
      {NetKind::kMlp, {}},
  };
  return kinds;
}

// Returns the whole number that `text` is, or nullopt unless it is one from 1 to `most`.
std::optional<int> Number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > most) return std::nullopt;
  return value;
}

// Reads "HxW" or "HxW/STRIDE". Returns false if `text` is neither.
bool ReadKernel(std::string_view text, LayerSpec& layer) {
  const auto slash = text.find('/'), cross = text.find('x');
  if (cross == std::string_view::npos) return false;
  if (slash != std::string_view::npos) {
    const auto stride = Number(text.substr(slash + 1), kLargestKernel);
    if (!stride) return false;
    layer.stride = *stride;
    text = text.substr(0, slash);
  }
  const auto height = Number(text.substr(0, cross), kLargestKernel);
  const auto width = Number(text.substr(cross + 1), kLargestKernel);
  if (!height || !width) return false;
  layer.kernel_height = *height;
  layer.kernel_width = *width;
  return true;
}

// Reads the words of one layer. Returns false if they are none.
bool ReadLayer(const std::vector<std::string>& words, LayerSpec& layer) {
  const auto is = [&](const char* name, std::size_t count) {
    return words[0] == name && words.size() == count;
  };
  const auto alone = [&](LayerKind kind) {
    layer.kind = kind;
    return true;
  };
  if (is("relu", 1)) return alone(LayerKind::kRelu);
  if (is("tanh", 1)) return alone(LayerKind::kTanh);
  if (is("layer_norm", 1)) return alone(LayerKind::kLayerNorm);
  if (!is("conv", 3) && !is("linear", 2) && !is("lstm", 2)) return false;
  layer.kind = words[0] == "conv"   ? LayerKind::kConv
               : words[0] == "lstm" ? LayerKind::kLstm
                                    : LayerKind::kLinear;
  const auto width = Number(words[1], kWidest);
  layer.width = width.value_or(0);
  return width && (layer.kind != LayerKind::kConv || ReadKernel(words[2], layer));
}

void CheckWidth(std::int64_t width) {
  if (width >= 1 && width <= kWidest) return;
  throw UserError(fmt::format("net.hidden holds the width {}: use 1 to {}", width, kWidest),
                  "net.hidden");
}

}  // namespace

LayerSpec ParseLayer(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  LayerSpec layer;
  layer.text = text;
  if (words.empty() || !ReadLayer(words, layer)) {
    throw UserError(
        fmt::format("net.layers: \"{}\" is no layer: {}; a width is 1 to {}, a side of a "
                    "kernel and a stride 1 to {}",
                    text, kGrammar, kWidest, kLargestKernel),
        "net.layers");
  }
  return layer;
}

std::vector<LayerSpec> LayersOf(const ModelSpec& spec) {
  std::vector<LayerSpec> layers;
  const auto add = [&](const std::string& text) { layers.push_back(ParseLayer(text)); };
  if (spec.kind == NetKind::kLayers) {
    for (const std::string& text : spec.layers) add(text);
    return layers;
  }
  const auto kind = std::ranges::find(Kinds(), spec.kind, &Kind::kind);
  // A relu follows every convolution and every hidden layer.
  for (const char* conv : kind->convs) {
    add(conv);
    add("relu");
  }
  for (const std::int64_t width : spec.hidden) {
    CheckWidth(width);
    add(fmt::format("linear {}", width));
    add("relu");
  }
  if (kind->lstm) add(fmt::format("lstm {}", spec.hidden.empty() ? 256 : spec.hidden.back()));
  return layers;
}

}  // namespace starling::net
