#include "net/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/check.h"
#include "core/error.h"
#include "net/buffer.h"

namespace starling::net {
namespace {

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Ops count the elements of an array as int (net/backend.h).
void CheckCounted(std::int64_t rows, std::int64_t size, const char* advice) {
  if (rows <= std::numeric_limits<int>::max() / size) return;
  throw UserError(
      fmt::format("a net of {} x {} numbers in one array is too large: {}", rows, size, advice));
}

constexpr const char* kFewerSamples = "make actors.envs_per_actor or actors.unroll smaller";

// Where a layer's weight and bias are in the flat vector.
struct Place {
  std::size_t weight = 0, bias = 0;
};

Place AddLayer(ParameterLayout& layout, const std::string& name, std::vector<std::int64_t> shape) {
  const std::int64_t out = shape.back();
  const std::size_t weight = layout.Add(name + ".weight", std::move(shape)).offset;
  return {weight, layout.Add(name + ".bias", {out}).offset};
}

struct ConvOf {
  int kernel = 1, stride = 1, channels = 1;
};

// The convolutions below the hidden layers. One line a kind.
struct Kind {
  std::string name;
  std::vector<ConvOf> convs;
};

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"minatar", {{3, 1, 16}}},            // Young and Tian 2019
      {"atari", {{8, 4, 16}, {4, 2, 32}}},  // Mnih et al. 2016 (A3C), with hidden = [256]
      {"nature", {{8, 4, 32}, {4, 2, 64}, {3, 1, 64}}},  // Mnih et al. 2015 (DQN), hidden = [512]
      {"mlp", {}},
  };
  return kinds;
}

const Kind* FindKind(const std::string& name) {
  const auto found = std::ranges::find(Kinds(), name, &Kind::name);
  return found == Kinds().end() ? nullptr : &*found;
}

// A convolution or a linear layer, followed by relu.
template <class T>
struct Hidden {
  Place place;
  std::optional<ConvShape> conv;  // else linear
  LinearShape linear;
  Buffer<T> output;           // (max_rows, size)
  Buffer<T> output_gradient;  // (max_rows, size), before the relu
  int size = 0;
};

template <class T>
class ActorCriticNet final : public Model<T> {
 public:
  ActorCriticNet(const ModelSpec& spec, Backend<T>& backend, int max_rows)
      : backend_(backend),
        num_actions_(spec.num_actions),
        max_rows_(max_rows),
        in_size_(spec.height * spec.width * spec.channels),
        observations_(Size(max_rows) * Size(in_size_)),
        logits_(Size(max_rows) * Size(spec.num_actions)),
        values_(Size(max_rows)) {
    ConvShape below{.height = spec.height, .width = spec.width, .in_channels = spec.channels};
    for (const ConvOf& conv : FindKind(spec.kind)->convs) below = AddConv(below, conv);
    for (const std::int64_t width : spec.hidden) AddLinear(static_cast<int>(width));
    policy_ = AddLayer(layout_, "policy", {top_size(), num_actions_});
    value_ = AddLayer(layout_, "value", {top_size(), 1});
  }

  const ParameterLayout& layout() const override { return layout_; }
  int num_actions() const override { return num_actions_; }
  int max_rows() const override { return max_rows_; }
  std::span<T> observations() override { return observations_.span(); }
  std::span<const T> logits() const override { return logits_.span(); }
  std::span<const T> values() const override { return values_.span(); }

  void Forward(std::span<const T> parameters, int row, int n) override {
    CheckRows(row, n);
    CHECK(parameters.size() == layout_.size());
    const T* const p = parameters.data();
    const T* x = Row(observations_, row, in_size_);
    for (Hidden<T>& layer : hidden_) {
      T* const y = Row(layer.output, row, layer.size);
      const T *const w = p + layer.place.weight, *const b = p + layer.place.bias;
      if (layer.conv) {
        backend_.ConvForward(*layer.conv, n, x, w, b, Activation::kRelu, y);
      } else {
        backend_.LinearForward(layer.linear, n, x, w, b, Activation::kRelu, y);
      }
      x = y;
    }
    backend_.LinearForward({top_size(), num_actions_}, n, x, p + policy_.weight, p + policy_.bias,
                           Activation::kNone, Row(logits_, row, num_actions_));
    backend_.LinearForward({top_size(), 1}, n, x, p + value_.weight, p + value_.bias,
                           Activation::kNone, Row(values_, row, 1));
  }

  void Backward(std::span<const T> parameters, int row, int n, std::span<const T> dlogits,
                std::span<const T> dvalues, std::span<T> gradient) override {
    CheckRows(row, n);
    CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size());
    CHECK(dlogits.size() == Size(n) * Size(num_actions_) && dvalues.size() == Size(n));
    ZeroGaps(gradient);
    BackwardHeads(parameters.data(), row, n, dlogits.data(), dvalues.data(), gradient.data());
    for (std::size_t i = hidden_.size(); i-- > 0;) {
      BackwardHidden(i, parameters.data(), row, n, gradient.data());
    }
  }

 private:
  int top_size() const { return hidden_.empty() ? in_size_ : hidden_.back().size; }

  static T* Row(Buffer<T>& buffer, int row, int size) {
    return buffer.data() + Size(row) * Size(size);
  }

  // A convolution over the input that `input` describes; returns its output as the next one's input.
  ConvShape AddConv(const ConvShape& input, const ConvOf& conv) {
    const ConvShape shape{input.height, input.width, input.in_channels, conv.kernel,
                          conv.kernel,  conv.stride, conv.channels};
    Hidden<T> layer;
    layer.place = AddLayer(layout_, fmt::format("conv{}", ++convs_),
                           {conv.kernel, conv.kernel, shape.in_channels, conv.channels});
    layer.conv = shape;
    AddHidden(std::move(layer), shape.out_size());
    return {.height = shape.out_height(),
            .width = shape.out_width(),
            .in_channels = shape.out_channels};
  }

  void AddLinear(int width) {
    CheckCounted(top_size(), width, "make net.hidden narrower");
    Hidden<T> layer;
    layer.linear = {top_size(), width};
    layer.place = AddLayer(layout_, fmt::format("fc{}", ++linears_), {layer.linear.in, width});
    AddHidden(std::move(layer), width);
  }

  void AddHidden(Hidden<T> layer, int size) {
    CheckCounted(max_rows_, size, kFewerSamples);
    layer.size = size;
    layer.output = Buffer<T>(Size(max_rows_) * Size(size));
    layer.output_gradient = Buffer<T>(Size(max_rows_) * Size(size));
    hidden_.push_back(std::move(layer));
  }

  void CheckRows(int row, int n) const {
    CHECK(row >= 0 && n >= 1 && row <= max_rows_ - n, "rows [{}, {}) of {}", row, row + n,
          max_rows_);
  }

  void ZeroGaps(std::span<T> gradient) const {
    const std::vector<Parameter>& all = layout_.parameters();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t end = i + 1 < all.size() ? all[i + 1].offset : layout_.size();
      std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(all[i].offset + all[i].size),
                gradient.begin() + static_cast<std::ptrdiff_t>(end), T(0));
    }
  }

  void BackwardHeads(const T* p, int row, int n, const T* dlogits, const T* dvalues, T* gradient) {
    const LinearShape policy{top_size(), num_actions_}, value{top_size(), 1};
    const T* const x = hidden_.empty() ? Row(observations_, row, in_size_)
                                       : Row(hidden_.back().output, row, top_size());
    backend_.LinearBackwardWeights(policy, n, x, dlogits, gradient + policy_.weight,
                                   gradient + policy_.bias);
    backend_.LinearBackwardWeights(value, n, x, dvalues, gradient + value_.weight,
                                   gradient + value_.bias);
    if (hidden_.empty()) return;
    T* const dx = Row(hidden_.back().output_gradient, row, top_size());
    backend_.LinearBackwardInput(policy, n, p + policy_.weight, dlogits, Put::kReplace, nullptr,
                                 dx);
    backend_.LinearBackwardInput(value, n, p + value_.weight, dvalues, Put::kAdd, x, dx);
  }

  // From the gradient of layer i's output to that of its parameters and of the layer below. Nobody
  // asks for the gradient of the observations.
  void BackwardHidden(std::size_t i, const T* p, int row, int n, T* gradient) {
    Hidden<T>& layer = hidden_[i];
    const T* const dy = Row(layer.output_gradient, row, layer.size);
    const T* const w = p + layer.place.weight;
    T *const dw = gradient + layer.place.weight, *const db = gradient + layer.place.bias;
    if (i == 0) {
      const T* const x = Row(observations_, row, in_size_);
      if (layer.conv) return backend_.ConvBackwardWeights(*layer.conv, n, x, dy, dw, db);
      return backend_.LinearBackwardWeights(layer.linear, n, x, dy, dw, db);
    }
    const T* const x = Row(hidden_[i - 1].output, row, hidden_[i - 1].size);
    T* const dx = Row(hidden_[i - 1].output_gradient, row, hidden_[i - 1].size);
    if (!layer.conv) return backend_.LinearBackward(layer.linear, n, x, w, dy, dw, db, dx);
    backend_.ConvBackwardWeights(*layer.conv, n, x, dy, dw, db);
    backend_.ConvBackwardInput(*layer.conv, n, w, dy, x, dx);
  }

  Backend<T>& backend_;
  const int num_actions_, max_rows_, in_size_;
  int convs_ = 0, linears_ = 0;
  ParameterLayout layout_;
  std::vector<Hidden<T>> hidden_;  // from the observations up
  Place policy_, value_;
  Buffer<T> observations_, logits_, values_;
};

void CheckSpec(const ModelSpec& spec) {
  CHECK(spec.height >= 1 && spec.width >= 1 && spec.channels >= 1 && spec.num_actions >= 1);
  const Kind* const kind = FindKind(spec.kind);
  if (kind == nullptr) {
    throw UserError(
        fmt::format("net.kind \"{}\" is unknown: use \"minatar\", \"atari\", \"nature\" or \"mlp\"",
                    spec.kind));
  }
  for (const std::int64_t width : spec.hidden) {
    if (width < 1 || width > 65536) {
      throw UserError(fmt::format("net.hidden holds the width {}: use 1 to 65536", width));
    }
  }
  int height = spec.height, width = spec.width;
  for (const ConvOf& conv : kind->convs) {
    if (height < conv.kernel || width < conv.kernel) {
      throw UserError(fmt::format(
          "net.kind \"{0}\" convolves {1}x{1} cells, but an observation of this env is {2}x{3}{4}: "
          "use net.kind \"mlp\"",
          spec.kind, conv.kernel, spec.height, spec.width,
          height == spec.height ? "" : fmt::format(", {}x{} at that layer", height, width)));
    }
    height = (height - conv.kernel) / conv.stride + 1;
    width = (width - conv.kernel) / conv.stride + 1;
  }
}

}  // namespace

template <class T>
std::unique_ptr<Model<T>> MakeModel(const ModelSpec& spec, Backend<T>& backend, int max_rows) {
  CheckSpec(spec);
  CHECK(max_rows >= 1);
  CheckCounted(max_rows, std::int64_t{spec.height} * spec.width * spec.channels, kFewerSamples);
  return std::make_unique<ActorCriticNet<T>>(spec, backend, max_rows);
}

template std::unique_ptr<Model<float>> MakeModel(const ModelSpec&, Backend<float>&, int);
template std::unique_ptr<Model<double>> MakeModel(const ModelSpec&, Backend<double>&, int);

}  // namespace starling::net
