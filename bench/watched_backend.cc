#include "bench/watched_backend.h"

#include <fmt/format.h>

#include "bench/stats.h"

namespace starling::bench {
namespace {

using net::ConvShape;
using net::LinearShape;

std::string NameOf(const LinearShape& shape) {
  return fmt::format("linear {} × {}", shape.in, shape.out);
}
std::string NameOf(const ConvShape& shape) {
  return fmt::format("conv {}@{}×{}/{}", shape.out_channels, shape.kernel_height,
                     shape.kernel_width, shape.stride);
}

double WorkOf(const LinearShape& shape) { return 2.0 * shape.in * shape.out; }
double WorkOf(const ConvShape& shape) { return 2.0 * shape.out_cells() * shape.num_weights(); }

}  // namespace

template <class Shape, class Work>
void WatchedBackend::Watch(const Shape& shape, const char* direction, int n, const Work& work,
                           int products) {
  const double ns = TimeNs(work);
  calls_.push_back({.op = NameOf(shape) + " " + direction,
                    .n = n,
                    .flops = n * products * WorkOf(shape),
                    .ns = ns});
}

template <class Work>
void WatchedBackend::WatchCells(const char* op, int n, const Work& work) {
  const double ns = TimeNs(work);
  calls_.push_back({.op = op, .n = n, .flops = 0, .ns = ns});
}

void WatchedBackend::LinearForward(const LinearShape& shape, int n, const float* x, const float* w,
                                   const float* b, net::Activation activation, float* y) {
  Watch(shape, "forward", n, [&] { inner_->LinearForward(shape, n, x, w, b, activation, y); });
}
void WatchedBackend::LinearBackwardWeights(const LinearShape& shape, int n, const float* x,
                                           const float* dy, float* dw, float* db) {
  Watch(shape, "backward weights", n,
        [&] { inner_->LinearBackwardWeights(shape, n, x, dy, dw, db); });
}
void WatchedBackend::LinearBackwardInput(const LinearShape& shape, int n, const float* w,
                                         const float* dy, net::Put put, const float* relu_output,
                                         float* dx) {
  Watch(shape, "backward input", n,
        [&] { inner_->LinearBackwardInput(shape, n, w, dy, put, relu_output, dx); });
}

void WatchedBackend::LinearBackward(const LinearShape& shape, int n, const float* x, const float* w,
                                    const float* dy, float* dw, float* db, float* dx) {
  Watch(
      shape, "backward", n, [&] { inner_->LinearBackward(shape, n, x, w, dy, dw, db, dx); }, 2);
}

void WatchedBackend::ConvForward(const ConvShape& shape, int n, const float* x, const float* w,
                                 const float* b, net::Activation activation, float* y) {
  Watch(shape, "forward", n, [&] { inner_->ConvForward(shape, n, x, w, b, activation, y); });
}
void WatchedBackend::ConvBackwardWeights(const ConvShape& shape, int n, const float* x,
                                         const float* dy, float* dw, float* db) {
  Watch(shape, "backward weights", n,
        [&] { inner_->ConvBackwardWeights(shape, n, x, dy, dw, db); });
}
void WatchedBackend::ConvBackwardInput(const ConvShape& shape, int n, const float* w,
                                       const float* dy, const float* relu_output, float* dx) {
  Watch(shape, "backward input", n,
        [&] { inner_->ConvBackwardInput(shape, n, w, dy, relu_output, dx); });
}

void WatchedBackend::LinearAccumulate(const LinearShape& shape, int n, const float* x,
                                      const float* w, float* y) {
  Watch(shape, "added", n, [&] { inner_->LinearAccumulate(shape, n, x, w, y); });
}

// The rest is not products: no work is counted.
void WatchedBackend::Activate(net::Activation activation, int count, const float* x, float* y) {
  WatchCells("activation forward", count, [&] { inner_->Activate(activation, count, x, y); });
}
void WatchedBackend::ActivateBackward(net::Activation activation, int count, const float* y,
                                      const float* dy, const float* relu_output, float* dx) {
  WatchCells("activation backward", count,
             [&] { inner_->ActivateBackward(activation, count, y, dy, relu_output, dx); });
}
void WatchedBackend::LayerNormForward(int width, int n, const float* x, const float* scale,
                                      const float* bias, net::Activation activation, float* moments,
                                      float* y) {
  WatchCells("layer norm forward", n,
             [&] { inner_->LayerNormForward(width, n, x, scale, bias, activation, moments, y); });
}
void WatchedBackend::LayerNormBackward(int width, int n, const float* x, const float* scale,
                                       const float* moments, const float* dy,
                                       const float* relu_output, float* dscale, float* dbias,
                                       float* dx) {
  WatchCells("layer norm backward", n, [&] {
    inner_->LayerNormBackward(width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx);
  });
}
void WatchedBackend::LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c,
                                     float* h) {
  WatchCells("lstm cell forward", n,
             [&] { inner_->LstmCellForward(hidden, n, gates, c_in, c, h); });
}
void WatchedBackend::LstmCellBackward(int hidden, int n, const float* gates, const float* c_in,
                                      const float* c, const float* dy, const float* dh, float* dc,
                                      float* dgates) {
  WatchCells("lstm cell backward", n,
             [&] { inner_->LstmCellBackward(hidden, n, gates, c_in, c, dy, dh, dc, dgates); });
}
void WatchedBackend::KeepState(int width, int n, const std::uint8_t* resets, const float* from,
                               float* to) {
  WatchCells("state kept", n, [&] { inner_->KeepState(width, n, resets, from, to); });
}

double TotalFlops(const std::vector<OpCall>& calls) {
  double sum = 0;
  for (const OpCall& call : calls) sum += call.flops;
  return sum;
}

Flops FlopsOf(const net::ModelSpec& spec) {
  WatchedBackend backend;
  const auto model = net::MakeModel<float>(spec, backend, {});
  const std::vector<float> weights(model->layout().size()), dvalue(1),
      dlogits(static_cast<std::size_t>(model->num_actions()));
  std::vector<float> gradient(weights.size());
  model->Forward(weights, 0);
  const double forward = TotalFlops(backend.TakeCalls());
  model->Backward(weights, 1, dlogits, dvalue, gradient);
  return {.forward = forward, .backward = TotalFlops(backend.TakeCalls())};
}

}  // namespace starling::bench
