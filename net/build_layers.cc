#include "net/build_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "net/layers/entries.h"
#include "net/layers/feed_forward.h"
#include "net/layers/gru.h"
#include "net/layers/lstm.h"
#include "net/layers/pictures.h"
#include "net/transposed.h"

namespace starling::net {
namespace {

constexpr const char* kFewerSamples = "make actors.envs_per_actor or actors.unroll smaller";

// Ops count the elements of an array as int (net/op_args.h).
void CheckCounted(std::int64_t rows, std::int64_t size, const char* advice) {
  if (rows <= std::numeric_limits<int>::max() / size) return;
  throw UserError(
      fmt::format("a net of {} x {} numbers in one array is too large: {}", rows, size, advice));
}

// The zeros before and behind a side, so that there are ceil(side / stride) windows, as in
// TensorFlow: an odd one stands behind.
struct Border {
  int before = 0, behind = 0;
};
Border SameBorder(int side, int kernel, int stride) {
  const int windows = (side + stride - 1) / stride;
  const int zeros = std::max((windows - 1) * stride + kernel - side, 0);
  return {.before = zeros / 2, .behind = zeros - zeros / 2};
}

}  // namespace

PadShape PadOf(const LayerSpec& layer, const Features& input) {
  PadShape pad{.height = input.height, .width = input.width, .channels = input.channels};
  if (!layer.same) return pad;
  const Border rows = SameBorder(input.height, layer.kernel_height, layer.stride);
  const Border columns = SameBorder(input.width, layer.kernel_width, layer.stride);
  pad.top = rows.before, pad.bottom = rows.behind;
  pad.left = columns.before, pad.right = columns.behind;
  return pad;
}

namespace {

// The convolution, or the windows, on the padded picture. A residual layer keeps the channels.
ConvShape ShapeOf(const LayerSpec& layer, const Features& input) {
  const PadShape pad = PadOf(layer, input);
  return {pad.padded_height(),
          pad.padded_width(),
          input.channels,
          layer.kernel_height,
          layer.kernel_width,
          layer.stride,
          layer.kind == LayerKind::kConv ? layer.width : input.channels};
}

PoolShape PoolOf(const LayerSpec& layer, const Features& input) {
  const PadShape pad = PadOf(layer, input);
  const ConvShape windows = ShapeOf(layer, input);
  return {.height = input.height,
          .width = input.width,
          .channels = input.channels,
          .kernel_height = layer.kernel_height,
          .kernel_width = layer.kernel_width,
          .stride = layer.stride,
          .top = pad.top,
          .left = pad.left,
          .out_height = windows.out_height(),
          .out_width = windows.out_width()};
}

// Layers that follow each other: those of a net, or of an entry.
struct Chain {
  const ModelSpec& spec;
  const ObservationEntry* entry = nullptr;
  // The key that lists them, else nullptr: they are of the kind of net.
  const char* key = nullptr;
};

// Reports a convolution or a window larger than its input. The message names the layer if the
// operator wrote it, else the kind of net that contains it.
[[noreturn]] void RefuseConv(const Chain& chain, const LayerSpec& layer, const Features& input,
                             bool first) {
  const ModelSpec& spec = chain.spec;
  const std::string found = input.flat() && input.channels > 1
                                ? fmt::format("a row of {} numbers", input.size())
                                : fmt::format("{}x{} cells", input.height, input.width);
  const std::string where = first ? "" : " at that layer";
  const std::string of = chain.entry ? fmt::format(" of \"{}\"", chain.entry->name) : "";
  if (chain.key != nullptr) {
    throw UserError(fmt::format("{}: \"{}\"{} {} {}x{} cells, but gets {}{}", chain.key, layer.text,
                                of, layer.kind == LayerKind::kMaxPool ? "takes" : "convolves",
                                layer.kernel_height, layer.kernel_width, found, where),
                    chain.key);
  }
  if (chain.entry != nullptr) {
    throw UserError(fmt::format("net.kind \"{}\" convolves {}x{} cells, but \"{}\" of this env is "
                                "{}{}: list its layers in net.entries, or none, as in \"{}:\"",
                                NameOf(spec.kind), layer.kernel_height, layer.kernel_width,
                                chain.entry->name, found, where, chain.entry->name),
                    "net.kind");
  }
  const bool channels_first = first && ChannelsComeFirst(input);
  const bool minatar_fits = spec.height >= 3 && spec.width >= 3 && spec.kind != NetKind::kMinatar;
  const std::string advice =
      channels_first ? fmt::format("channels come last, here {}; transpose it", spec.channels)
      : minatar_fits ? "use net.kind \"minatar\" or \"mlp\""
                     : "use net.kind \"mlp\"";
  throw UserError(
      fmt::format(
          "net.kind \"{}\" convolves {}x{} cells, but an observation of this env is "
          "{}x{}{}: {}",
          NameOf(spec.kind), layer.kernel_height, layer.kernel_width, spec.height, spec.width,
          first ? "" : fmt::format(", {}x{} at that layer", input.height, input.width), advice),
      "net.kind");
}

// Whether a kernel, or a window, suits a side. With zeros around, each of its cells must meet one
// of the picture.
bool Fits(int kernel, int side, bool same) { return kernel <= (same ? 2 * side - 1 : side); }

// The shape of a layer's output.
Features After(const Chain& chain, const LayerSpec& layer, const Features& input, bool first) {
  switch (layer.kind) {
    case LayerKind::kConv:
    case LayerKind::kMaxPool:
    case LayerKind::kResidual: {
      const ConvShape shape = ShapeOf(layer, input);
      if (!Fits(layer.kernel_height, input.height, layer.same) ||
          !Fits(layer.kernel_width, input.width, layer.same)) {
        RefuseConv(chain, layer, input, first);
      }
      return {shape.out_height(), shape.out_width(), shape.out_channels};
    }
    case LayerKind::kLinear:
    case LayerKind::kLstm:
    case LayerKind::kGru:
      return {.channels = layer.width};
    default:
      return input;
  }
}

bool FusesRelu(LayerKind kind) {
  return kind == LayerKind::kConv || kind == LayerKind::kLinear || kind == LayerKind::kLayerNorm;
}

int GatesOf(LayerKind kind) {
  return kind == LayerKind::kLstm ? 4 : kind == LayerKind::kGru ? 3 : 1;
}

// The stem of parameter names. They are part of the fingerprint.
const char* NameOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kEntries:
      return "entries";
    case LayerKind::kConv:
      return "conv";
    case LayerKind::kResidual:
      return "res";
    case LayerKind::kLinear:
      return "fc";
    case LayerKind::kLstm:
      return "lstm";
    case LayerKind::kGru:
      return "gru";
    case LayerKind::kLayerNorm:
      return "norm";
    default:
      return "";
  }
}

template <class T>
std::unique_ptr<Layer<T>> MakeEntries(const PlannedLayer& joined, const LayerContext<T>& context) {
  std::vector<typename Entries<T>::Entry> entries;
  for (const PlannedLayer::Entry& entry : joined.entries) {
    LayerContext<T> own = context;
    own.name = fmt::format("{}.{}.{}.", context.name, entries.size(), entry.name);
    entries.push_back({entry.from, entry.to, entry.input, BuildLayers<T>(entry.layers, own)});
  }
  return std::make_unique<Entries<T>>(context, std::move(entries), joined.output.size());
}

template <class T>
std::unique_ptr<Layer<T>> Make(const PlannedLayer& planned, const LayerContext<T>& context) {
  const LayerSpec& layer = planned.spec;
  const bool relu = planned.relu;
  switch (layer.kind) {
    case LayerKind::kEntries:
      return MakeEntries(planned, context);
    case LayerKind::kConv: {
      const ConvShape shape = ShapeOf(layer, context.input);
      if (!layer.same) return std::make_unique<Conv<T>>(context, shape, relu);
      return std::make_unique<PaddedConv<T>>(context, PadOf(layer, context.input), shape,
                                             Activation::kNone, relu);
    }
    case LayerKind::kMaxPool:
      return std::make_unique<MaxPool<T>>(context, PoolOf(layer, context.input));
    case LayerKind::kResidual:
      return std::make_unique<Residual<T>>(context, PadOf(layer, context.input),
                                           ShapeOf(layer, context.input));
    case LayerKind::kLinear:
      return std::make_unique<Linear<T>>(context, layer.width, relu);
    case LayerKind::kLayerNorm:
      return std::make_unique<LayerNorm<T>>(context, relu);
    case LayerKind::kLstm:
      return std::make_unique<Lstm<T>>(context, layer.width);
    case LayerKind::kGru:
      return std::make_unique<Gru<T>>(context, layer.width);
    case LayerKind::kRelu:
      return std::make_unique<ActivationLayer<T>>(context, Activation::kRelu);
    case LayerKind::kTanh:
      break;
  }
  return std::make_unique<ActivationLayer<T>>(context, Activation::kTanh);
}

// The layers of `specs`, from `input` up, appended to `layers`.
void PlanChain(const Chain& chain, const std::vector<LayerSpec>& specs, Features input,
               std::vector<PlannedLayer>& layers) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const LayerKind kind = specs[i].kind;
    const bool fused =
        FusesRelu(kind) && i + 1 < specs.size() && specs[i + 1].kind == LayerKind::kRelu;
    const Features output =
        WithRelu(After(chain, specs[i], input, i == 0), fused || kind == LayerKind::kRelu);
    layers.push_back({.spec = specs[i], .relu = fused, .input = input, .output = output});
    input = output;
    if (fused) ++i;
  }
}

// Plans the layers of each entry. Their outputs, one after the other, are that of the plan.
PlannedLayer PlanEntries(const ModelSpec& spec) {
  PlannedLayer joined;
  joined.spec.kind = LayerKind::kEntries;
  const std::vector<EntryLayers> all = LayersOfEntries(spec);
  int from = 0;
  std::int64_t to = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // 1. Its columns in both rows.
    const ObservationEntry& entry = spec.entries[i];
    const Features input{entry.height, entry.width, entry.channels};
    joined.entries.push_back({.name = entry.name,
                              .from = from,
                              .to = static_cast<int>(to),
                              .input = input,
                              .layers = {}});
    // 2. Its layers.
    std::vector<PlannedLayer>& layers = joined.entries.back().layers;
    PlanChain({spec, &entry, all[i].listed ? "net.entries" : nullptr}, all[i].layers, input,
              layers);
    from += input.size();
    to += layers.empty() ? input.size() : layers.back().output.size();
    CheckCounted(1, to, "make its net.entries narrower");
  }
  joined.input.channels = from;
  joined.output.channels = static_cast<int>(to);
  return joined;
}

// The arrays of a layer of pictures: its weight, the patches of one sample (net/cpu), and the
// padded pictures of all rows. None of these sizes is known to fit into an int yet.
void CheckPictures(const PlannedLayer& layer, std::int64_t rows) {
  constexpr const char* kSmaller = "take fewer channels or a smaller kernel in its net.layers";
  const LayerSpec& spec = layer.spec;
  const PadShape pad = PadOf(spec, layer.input);
  const std::int64_t channels = layer.input.channels;
  if (spec.kind != LayerKind::kMaxPool) {
    const std::int64_t patch = channels * spec.kernel_height * spec.kernel_width;
    CheckCounted(patch, layer.output.channels, kSmaller);
    CheckCounted(patch, layer.output.height * layer.output.width, kSmaller);
  }
  CheckCounted(rows, channels * pad.padded_height() * pad.padded_width(), kFewerSamples);
}

// The arrays of all `layers`; `narrower` is advice.
void CheckLayers(const std::vector<PlannedLayer>& layers, std::int64_t rows, const char* narrower) {
  for (const PlannedLayer& layer : layers) {
    const LayerKind kind = layer.spec.kind;
    const int gates = GatesOf(kind), size = layer.output.size();
    if (kind == LayerKind::kLinear || IsRecurrent(kind)) {
      // A recurrent layer has another weight of shape (output, gates * output).
      const int most = IsRecurrent(kind) ? std::max(layer.input.size(), size) : layer.input.size();
      CheckCounted(most, gates * size, narrower);
    }
    CheckCounted(rows, std::int64_t{gates} * size, kFewerSamples);
    if (IsOfPictures(kind)) CheckPictures(layer, rows);
    for (const PlannedLayer::Entry& entry : layer.entries) {
      CheckLayers(entry.layers, rows, "make its net.entries narrower");
    }
  }
}

}  // namespace

std::int64_t PlannedLayer::work() const {
  switch (spec.kind) {
    case LayerKind::kEntries: {
      std::int64_t sum = output.size();
      for (const Entry& entry : entries) {
        for (const PlannedLayer& layer : entry.layers) sum += layer.work();
      }
      return sum;
    }
    case LayerKind::kConv:
      return std::int64_t{output.size()} * ShapeOf(spec, input).patch();
    case LayerKind::kResidual:
      return std::int64_t{2} * output.size() * ShapeOf(spec, input).patch();
    case LayerKind::kLinear:
      return std::int64_t{input.size()} * output.size();
    case LayerKind::kLstm:
    case LayerKind::kGru:
      return (std::int64_t{input.size()} + output.size()) * GatesOf(spec.kind) * output.size();
    default:
      return output.size();
  }
}

std::vector<PlannedLayer> PlanLayers(const ModelSpec& spec) {
  CHECK(spec.height >= 1 && spec.width >= 1 && spec.channels >= 1 && spec.actions.outputs() >= 1);
  std::vector<PlannedLayer> layers;
  Features input{spec.height, spec.width, spec.channels};
  // 1. Entries that pass as they are need no layer to join them.
  PlannedLayer joined = PlanEntries(spec);
  const auto has_layers = [](const PlannedLayer::Entry& entry) { return !entry.layers.empty(); };
  if (std::ranges::any_of(joined.entries, has_layers)) {
    CHECK(joined.input.size() == input.size(), "{} numbers of entries", joined.input.size());
    input = joined.output;
    layers.push_back(std::move(joined));
  }
  // 2. The layers of the net.
  PlanChain({spec, nullptr, spec.kind == NetKind::kLayers ? "net.layers" : nullptr}, LayersOf(spec),
            input, layers);
  return layers;
}

void CheckCounts(const ModelSpec& spec, const std::vector<PlannedLayer>& layers,
                 const Batch& batch) {
  const std::int64_t rows = std::int64_t{batch.envs} * batch.steps;
  CheckCounted(rows, Features{spec.height, spec.width, spec.channels}.size() + spec.actions.mask(),
               kFewerSamples);
  CheckCounted(rows, spec.actions.outputs(), kFewerSamples);
  const int top =
      layers.empty() ? spec.height * spec.width * spec.channels : layers.back().output.size();
  CheckCounted(top, spec.actions.outputs(), "make the layer below the heads narrower");
  CheckLayers(
      layers, rows,
      spec.kind == NetKind::kLayers ? "make its net.layers narrower" : "make net.hidden narrower");
}

std::vector<std::string> LayerNames(const std::vector<PlannedLayer>& layers,
                                    const std::string& prefix) {
  std::vector<std::string> names;
  std::map<LayerKind, int> count;
  for (const PlannedLayer& layer : layers) {
    const LayerKind kind = layer.spec.kind;
    names.push_back(prefix + NameOf(kind));
    if (kind != LayerKind::kEntries) names.back() += std::to_string(++count[kind]);
  }
  return names;
}

template <class T>
Layers<T> BuildLayers(const std::vector<PlannedLayer>& layers, LayerContext<T> context) {
  Layers<T> built;
  const std::vector<std::string> names = LayerNames(layers, context.name);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    context.input = layers[i].input;
    context.name = names[i];
    built.push_back(Make(layers[i], context));
  }
  return built;
}

template Layers<float> BuildLayers(const std::vector<PlannedLayer>&, LayerContext<float>);
template Layers<double> BuildLayers(const std::vector<PlannedLayer>&, LayerContext<double>);

}  // namespace starling::net
