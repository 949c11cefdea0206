#include "net/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace starling::net {
namespace {

constexpr int kWidest = 65'536, kLargestKernel = 256;
constexpr const char* kGrammar =
    "use \"conv CHANNELS HxW\" or \"conv CHANNELS HxW/STRIDE\", \"max_pool HxW/STRIDE\" (each with "
    "\"same\" behind it to keep the size), \"residual HxW\", \"linear WIDTH\", \"lstm WIDTH\", "
    "\"gru WIDTH\", \"layer_norm\", \"relu\" or \"tanh\"";

// A kind of net: layers of pictures, then the hidden layers of net.hidden, then perhaps an lstm.
struct Kind {
  NetKind kind;
  std::vector<const char*> pictures;
  bool lstm = false;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      // Young and Tian 2019.
      {NetKind::kMinatar, {"conv 16 3x3", "relu"}},
      // Mnih et al. 2016: A3C with hidden = [256], and A3C LSTM.
      {NetKind::kAtari, {"conv 16 8x8/4", "relu", "conv 32 4x4/2", "relu"}},
      {NetKind::kAtariLstm, {"conv 16 8x8/4", "relu", "conv 32 4x4/2", "relu"}, true},
      // Mnih et al. 2015: DQN with hidden = [512].
      {NetKind::kNature, {"conv 32 8x8/4", "relu", "conv 64 4x4/2", "relu", "conv 64 3x3", "relu"}},
      // The large net of Espeholt et al. 2018, with hidden = [256].
      {NetKind::kImpala,
       {"conv 16 3x3 same", "max_pool 3x3/2 same", "residual 3x3", "residual 3x3",
        "conv 32 3x3 same", "max_pool 3x3/2 same", "residual 3x3", "residual 3x3",
        "conv 32 3x3 same", "max_pool 3x3/2 same", "residual 3x3", "residual 3x3", "relu"}},
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

// What follows the name of a layer.
struct LayerWords {
  const char* name;
  LayerKind kind;
  bool width = false, kernel = false;
  bool may_be_same = false;  // with "same" at the end
};
constexpr LayerWords kLayerWords[] = {
    {"conv", LayerKind::kConv, true, true, true},
    {"max_pool", LayerKind::kMaxPool, false, true, true},
    {"residual", LayerKind::kResidual, false, true},
    {"linear", LayerKind::kLinear, true},
    {"lstm", LayerKind::kLstm, true},
    {"gru", LayerKind::kGru, true},
    {"layer_norm", LayerKind::kLayerNorm},
    {"relu", LayerKind::kRelu},
    {"tanh", LayerKind::kTanh},
};

// Reads the words of one layer. Returns false if they are none.
bool ReadLayer(std::vector<std::string> words, LayerSpec& layer) {
  const auto named = std::ranges::find_if(
      kLayerWords, [&](const LayerWords& known) { return words[0] == known.name; });
  if (named == std::end(kLayerWords)) return false;
  layer.kind = named->kind;
  layer.same = layer.kind == LayerKind::kResidual;
  if (named->may_be_same && words.back() == "same") {
    layer.same = true;
    words.pop_back();
  }
  if (words.size() != std::size_t{1} + named->width + named->kernel) return false;
  if (named->width) {
    const auto width = Number(words[1], kWidest);
    if (!width) return false;
    layer.width = *width;
  }
  if (named->kernel && !ReadKernel(words.back(), layer)) return false;
  return layer.kind != LayerKind::kResidual || layer.stride == 1;
}

constexpr const char* kEntriesKey = "net.entries";

[[noreturn]] void RefuseEntries(std::string_view what) {
  throw UserError(fmt::format("{}: {}", kEntriesKey, what), kEntriesKey);
}

// Reads "LAYER, LAYER ..." of the entry `name`.
std::vector<LayerSpec> ReadEntry(const std::string& name, std::string_view list) {
  std::vector<LayerSpec> layers;
  if (list.find_first_not_of(' ') == std::string_view::npos) return layers;
  for (bool more = true; more;) {
    list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
    const std::size_t comma = list.find(',');
    more = comma != std::string_view::npos;
    layers.push_back(ParseLayer(std::string(list.substr(0, comma)), kEntriesKey));
    if (IsRecurrent(layers.back().kind)) {
      RefuseEntries(
          fmt::format("\"{}\" of \"{}\": a layer with a memory stands above all "
                      "entries; put it into net.layers",
                      layers.back().text, name));
    }
    if (more) list.remove_prefix(comma + 1);
  }
  return layers;
}

// Returns the entry that `text`, "NAME: ...", is about: the one with the longest name that fits.
std::size_t EntryOf(const std::vector<ObservationEntry>& entries, const std::string& text) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    const bool fits = text.starts_with(name + ":");
    if (fits && (!found || name.size() > entries[*found].name.size())) found = i;
  }
  if (found) return *found;
  std::vector<std::string> names;
  for (const ObservationEntry& entry : entries) names.push_back(entry.name);
  RefuseEntries(
      names.empty()
          ? "an observation of this env is one array; leave it out, its layers are net.layers"
          : fmt::format("\"{}\" begins with no entry of this env; write \"NAME: LAYER, LAYER\" "
                        "with one of {}",
                        text, Listed(names)));
}

void CheckWidth(std::int64_t width) {
  if (width >= 1 && width <= kWidest) return;
  throw UserError(fmt::format("net.hidden holds the width {}: use 1 to {}", width, kWidest),
                  "net.hidden");
}

}  // namespace

LayerSpec ParseLayer(const std::string& text, const char* key) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  LayerSpec layer;
  layer.text = text;
  if (words.empty() || !ReadLayer(words, layer)) {
    throw UserError(
        fmt::format("{}: \"{}\" is no layer: {}; a width is 1 to {}, a side of a kernel and a "
                    "stride 1 to {}",
                    key, text, kGrammar, kWidest, kLargestKernel),
        key);
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
  if (spec.entries.empty()) {
    for (const char* layer : kind->pictures) add(layer);
  }
  // A relu follows every hidden layer.
  for (const std::int64_t width : spec.hidden) {
    CheckWidth(width);
    add(fmt::format("linear {}", width));
    add("relu");
  }
  if (kind->lstm) add(fmt::format("lstm {}", spec.hidden.empty() ? 256 : spec.hidden.back()));
  return layers;
}

bool HasMemory(const ModelSpec& spec) {
  return std::ranges::any_of(LayersOf(spec),
                             [](const LayerSpec& layer) { return IsRecurrent(layer.kind); });
}

std::vector<EntryLayers> LayersOfEntries(const ModelSpec& spec) {
  std::vector<EntryLayers> all(spec.entries.size());
  // 1. Those that are listed.
  for (const std::string& text : spec.entry_layers) {
    const std::size_t i = EntryOf(spec.entries, text);
    const std::string& name = spec.entries[i].name;
    if (all[i].listed) RefuseEntries(fmt::format("\"{}\" is listed twice", name));
    all[i] = {ReadEntry(name, std::string_view(text).substr(name.size() + 1)), true};
  }
  // 2. Other pictures have the layers of the kind of net.
  const auto kind = std::ranges::find(Kinds(), spec.kind, &Kind::kind);
  if (kind == Kinds().end()) return all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].listed || !spec.entries[i].picture()) continue;
    for (const char* layer : kind->pictures) all[i].layers.push_back(ParseLayer(layer));
  }
  return all;
}

}  // namespace starling::net
