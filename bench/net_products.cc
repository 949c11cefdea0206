#include "bench/net_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "bench/stats.h"
#include "core/buffer.h"
#include "core/check.h"
#include "core/random.h"
#include "net/model.h"

namespace starling::bench {
namespace {

using net::Backend;

constexpr int kAtOnce = 16;  // products in one recording: starting it costs nothing beside them

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

Buffer<float> Noise(std::size_t size, Memory& memory) {
  RandomStream random(StreamId{.seed = 3});
  Buffer<float> here(size, memory.host_side());
  for (float& value : here.span()) value = random.Uniform();
  if (memory.on_host()) return here;
  Buffer<float> there(size, memory);
  Write<float>(memory, there.span(), here.span());
  memory.Wait();
  return there;
}

// The products of one layer whose forward pass over a sample is rows x in . in x out.
class Products {
 public:
  Products(int envs, int steps) : envs_(envs), steps_(steps) {}

  void Add(const std::string& layer, int rows, int in, int out) {
    const int step = envs_ * rows, all = steps_ * step;
    list_.push_back({layer + ", forward", step, in, out, false, steps_});
    list_.push_back({layer + ", backward weights", in, all, out});
    if (list_.size() > 2) list_.push_back({layer + ", backward input", all, out, in, true});
  }
  std::vector<Product> Take() { return std::move(list_); }

 private:
  const int envs_, steps_;
  std::vector<Product> list_;
};

// Median nanoseconds of ops(), recorded under `id` and repeated.
template <class Ops>
double RecordedNs(Backend<float>& backend, int id, double seconds, const Ops& ops) {
  const auto once = [&] {
    backend.Repeat(id, ops);
    backend.memory().Wait();
  };
  once();  // as it is asked
  once();  // recorded
  return Median(TimeManyNs(seconds, once));
}

double WholeNs(Backend<float>& backend, const net::ModelSpec& spec, int envs, int steps, int id,
               double seconds) {
  const auto model = net::MakeModel<float>(spec, backend, {.envs = envs, .steps = steps});
  Memory& memory = backend.memory();
  const std::size_t rows = Size(envs) * Size(steps);
  const Buffer<float> observations = Noise(model->observations().size(), memory);
  Copy<float>(memory, model->observations(), observations.span());
  const std::vector<float> initial = net::InitialParameters(model->layout(), 1);
  Buffer<float> here(initial.size(), memory.host_side()), weights(initial.size(), memory);
  std::ranges::copy(initial, here.data());
  Write<float>(memory, weights.span(), here.span());
  const Buffer<float> dlogits = Noise(rows * Size(spec.num_actions), memory),
                      dvalues = Noise(rows, memory);
  Buffer<float> gradient(initial.size(), memory);
  const net::HeldWeights held(backend);
  return RecordedNs(backend, id, seconds, [&] {
    for (int step = 0; step < steps; ++step) model->Forward(weights.span(), step);
    model->Backward(weights.span(), steps, dlogits.span(), dvalues.span(), gradient.span());
  });
}

double ProductNs(Backend<float>& backend, const Product& product, int id, double seconds) {
  const auto& [what, m, k, n, transposed, times] = product;
  Memory& memory = backend.memory();
  const Buffer<float> a = Noise(Size(m) * Size(k), memory), b = Noise(Size(k) * Size(n), memory);
  Buffer<float> c(Size(m) * Size(n), memory);
  const net::HeldWeights held(backend);
  const double ns = RecordedNs(backend, id, seconds, [&] {
    for (int i = 0; i < kAtOnce; ++i) {
      if (transposed) {
        backend.LinearBackwardInput({.in = n, .out = k}, m, b.data(), a.data(), net::Put::kReplace,
                                    nullptr, c.data());
      } else {
        backend.LinearAccumulate({.in = k, .out = n}, m, a.data(), b.data(), c.data());
      }
    }
  });
  return ns / kAtOnce * times;
}

}  // namespace

std::vector<Product> ProductsOf(const net::ModelSpec& spec, int envs, int steps) {
  using net::LayerKind;
  Products products(envs, steps);
  net::ConvShape below{.height = spec.height, .width = spec.width, .in_channels = spec.channels};
  for (const net::LayerSpec& layer : net::LayersOf(spec)) {
    if (layer.kind == LayerKind::kRelu || layer.kind == LayerKind::kTanh) continue;
    CHECK(layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear, "{}", layer.text);
    if (layer.kind == LayerKind::kConv) {
      below.kernel_height = layer.kernel_height;
      below.kernel_width = layer.kernel_width;
      below.stride = layer.stride;
      products.Add(layer.text, below.out_height() * below.out_width(), below.patch(), layer.width);
      below = {
          .height = below.out_height(), .width = below.out_width(), .in_channels = layer.width};
    } else {
      products.Add(layer.text, 1, below.in_size(), layer.width);
      below = {.in_channels = layer.width};
    }
  }
  products.Add("policy", 1, below.in_size(), spec.num_actions);
  products.Add("value", 1, below.in_size(), 1);
  return products.Take();
}

ProductTimes MeasureProducts(Backend<float>& backend, const net::ModelSpec& spec, int envs,
                             int steps, double seconds) {
  const std::vector<Product> products = ProductsOf(spec, envs, steps);
  const double each_s = seconds / 2 / static_cast<double>(products.size());
  ProductTimes times;
  times.whole_us = WholeNs(backend, spec, envs, steps, 0, seconds / 2) / 1e3;
  int id = 1;
  for (const Product& product : products) {
    times.products.push_back({product, ProductNs(backend, product, id++, each_s) / 1e3});
    times.products_us += times.products.back().us;
    times.flops += product.flops();
  }
  return times;
}

net::ModelSpec AtariSpec() {
  return {
      .kind = "atari", .hidden = {256}, .height = 84, .width = 84, .channels = 4, .num_actions = 6};
}

}  // namespace starling::bench
