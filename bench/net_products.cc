#include "bench/net_products.h"

#include <algorithm>
#include <cstddef>

#include "bench/stats.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/random.h"
#include "net/model.h"

namespace starling::bench {
namespace {

using net::Backend;

constexpr int kOpsPerReplay = 16;  // enough that the start of a replay costs next to nothing

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

// Fills `numbers` with random numbers, which repeat after kMaxNoise.
void FillWithNoise(std::span<float> numbers, Memory& memory) {
  constexpr std::size_t kMaxNoise = 1 << 20;
  RandomStream random(StreamId{.seed = 3});
  Buffer<float> here(std::min(kMaxNoise, numbers.size()), memory.host_side());
  for (float& value : here.span()) value = 2 * random.Uniform() - 1;
  for (std::size_t at = 0; at < numbers.size(); at += here.size()) {
    const std::size_t size = std::min(here.size(), numbers.size() - at);
    Write<float>(memory, numbers.subspan(at, size), here.span().first(size));
  }
  memory.Wait();
}

Buffer<float> Noise(std::size_t size, Memory& memory) {
  Buffer<float> numbers(size, memory);
  FillWithNoise(numbers.span(), memory);
  return numbers;
}

// Median nanoseconds of a replay of ops(), recorded under `id`.
template <class Ops>
double RecordedNs(Backend<float>& backend, int id, double seconds, const Ops& ops) {
  const net::HeldWeights held(backend);
  const auto once = [&] {
    backend.Repeat(id, ops);
    backend.memory().Wait();
  };
  once();  // runs as it is
  once();  // is recorded
  return Median(TimeManyNs(seconds, once));
}

double WholeNs(Backend<float>& backend, const net::ModelSpec& spec, int envs, int steps, int id,
               double seconds) {
  const auto model = net::MakeModel<float>(spec, backend, {.envs = envs, .steps = steps});
  Memory& memory = backend.memory();
  FillWithNoise(model->observations(), memory);
  const std::vector<float> initial = net::InitialParameters(model->layout(), 1);
  Buffer<float> here(initial.size(), memory.host_side()), weights(initial.size(), memory);
  std::ranges::copy(initial, here.data());
  Write<float>(memory, weights.span(), here.span());
  const std::size_t rows = Size(envs) * Size(steps);
  const Buffer<float> dlogits = Noise(rows * Size(spec.actions.outputs()), memory),
                      dvalues = Noise(rows, memory);
  Buffer<float> gradient(initial.size(), memory);
  return RecordedNs(backend, id, seconds, [&] {
    for (int step = 0; step < steps; ++step) model->Forward(weights.span(), step);
    model->Backward(weights.span(), steps, dlogits.span(), dvalues.span(), gradient.span());
  });
}

// The arguments of an op, in the backend's memory, large enough for all three passes.
struct Arrays {
  Arrays(std::size_t in, const net::LinearShape& shape, std::size_t out, Memory& memory)
      : x(Noise(in, memory)),
        dx(in, memory),
        w(Noise(Size(shape.in) * Size(shape.out), memory)),
        dw(w.size(), memory),
        b(Noise(Size(shape.out), memory)),
        db(b.size(), memory),
        y(Noise(out, memory)) {}
  Buffer<float> x, dx, w, dw, b, db, y;
};

// Calls the op as the net does, behind a relu.
void CallOp(Backend<float>& backend, const Product& product, Arrays& of) {
  const auto& [what, pass, conv, shape, n, rows, times] = product;
  const auto relu = net::Activation::kRelu;
  const float *x = of.x.data(), *w = of.w.data(), *b = of.b.data(), *dy = of.y.data();
  float *y = of.y.data(), *dx = of.dx.data(), *dw = of.dw.data(), *db = of.db.data();
  if (conv && pass == Pass::kForward) {
    backend.ConvForward(
        {.shape = *conv, .n = n, .x = x, .w = w, .b = b, .activation = relu, .y = y});
  } else if (conv && pass == Pass::kBackwardWeights) {
    backend.ConvBackwardWeights({.shape = *conv, .n = n, .x = x, .dy = dy, .dw = dw, .db = db});
  } else if (conv) {
    backend.ConvBackwardInput(
        {.shape = *conv, .n = n, .w = w, .dy = dy, .relu_output = x, .dx = dx});
  } else if (pass == Pass::kForward) {
    backend.LinearForward(
        {.shape = shape, .n = n, .x = x, .w = w, .b = b, .activation = relu, .y = y});
  } else if (pass == Pass::kBackwardWeights) {
    backend.LinearBackwardWeights({.shape = shape, .n = n, .x = x, .dy = dy, .dw = dw, .db = db});
  } else {
    backend.LinearBackwardInput(
        {.shape = shape, .n = n, .w = w, .dy = dy, .relu_output = x, .dx = dx});
  }
}

// Calls its product as an op of a fully connected layer, without bias, activation and mask.
void CallProduct(Backend<float>& backend, const Product& product, Arrays& of) {
  if (product.pass == Pass::kForward) {
    return backend.LinearAccumulate(product.shape, product.rows, of.x.data(), of.w.data(),
                                    of.y.data());
  }
  if (product.pass == Pass::kBackwardInput) {
    return backend.LinearBackwardInput({.shape = product.shape,
                                        .n = product.rows,
                                        .w = of.w.data(),
                                        .dy = of.y.data(),
                                        .dx = of.dx.data()});
  }
  Product linear = product;
  linear.conv.reset();
  linear.samples = linear.rows;
  CallOp(backend, linear, of);
}

template <class Call>
double AloneUs(Backend<float>& backend, const Product& product, std::size_t in, int id,
               double seconds, const Call& call) {
  Arrays arrays(in, product.shape, Size(product.rows) * Size(product.shape.out), backend.memory());
  const double ns = RecordedNs(backend, id, seconds, [&] {
    for (int i = 0; i < kOpsPerReplay; ++i) call(backend, product, arrays);
  });
  return ns / kOpsPerReplay * product.times / 1e3;
}

}  // namespace

std::vector<Product> ProductsOf(const net::ModelSpec& spec, int envs, int steps) {
  using net::LayerKind;
  std::vector<Product> products;
  const auto add = [&](const std::string& layer, const std::optional<net::ConvShape>& conv,
                       const net::LinearShape& shape) {
    const int cells = conv ? conv->out_cells() : 1, all = envs * steps;
    products.push_back(
        {layer + ", forward", Pass::kForward, conv, shape, envs, envs * cells, steps});
    products.push_back(
        {layer + ", backward weights", Pass::kBackwardWeights, conv, shape, all, all * cells, 1});
    if (products.size() == 2) return;  // the gradient of observations is not needed
    products.push_back(
        {layer + ", backward input", Pass::kBackwardInput, conv, shape, all, all * cells, 1});
  };
  net::ConvShape below{.height = spec.height, .width = spec.width, .in_channels = spec.channels};
  for (const net::LayerSpec& layer : net::LayersOf(spec)) {
    if (layer.kind == LayerKind::kRelu || layer.kind == LayerKind::kTanh) continue;
    CHECK((layer.kind == LayerKind::kConv && !layer.same) || layer.kind == LayerKind::kLinear, "{}",
          layer.text);
    if (layer.kind == LayerKind::kConv) {
      below.kernel_height = layer.kernel_height;
      below.kernel_width = layer.kernel_width;
      below.stride = layer.stride;
      below.out_channels = layer.width;
      add(layer.text, below, {.in = below.patch(), .out = layer.width});
      below = {
          .height = below.out_height(), .width = below.out_width(), .in_channels = layer.width};
    } else {
      add(layer.text, std::nullopt, {.in = below.in_size(), .out = layer.width});
      below = {.in_channels = layer.width};
    }
  }
  add("policy", std::nullopt, {.in = below.in_size(), .out = spec.actions.outputs()});
  add("value", std::nullopt, {.in = below.in_size(), .out = 1});
  return products;
}

ProductTimes MeasureProducts(Backend<float>& backend, const net::ModelSpec& spec, int envs,
                             int steps, double seconds) {
  const std::vector<Product> products = ProductsOf(spec, envs, steps);
  const double each_s = seconds / 3 / static_cast<double>(products.size());
  ProductTimes times;
  int id = 0;
  times.whole_us = WholeNs(backend, spec, envs, steps, id++, seconds / 3) / 1e3;
  for (const Product& product : products) {
    const int in = product.conv ? product.conv->in_size() : product.shape.in;
    const double op_us =
        AloneUs(backend, product, Size(product.samples) * Size(in), id++, each_s, CallOp);
    const double product_us = AloneUs(backend, product, Size(product.rows) * Size(product.shape.in),
                                      id++, each_s, CallProduct);
    times.products.push_back({product, op_us, product_us});
  }
  return times;
}

net::ModelSpec AtariSpec() {
  return {.kind = NetKind::kAtari,
          .hidden = {256},
          .height = 84,
          .width = 84,
          .channels = 4,
          .actions = ActionSpace::Choice(6)};
}

net::ModelSpec MinatarSpec() {
  return {.kind = NetKind::kMinatar,
          .hidden = {128},
          .height = 10,
          .width = 10,
          .channels = 4,
          .actions = ActionSpace::Choice(6)};
}

}  // namespace starling::bench
