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

double TotalFlops(const std::vector<OpCall>& calls) {
  double sum = 0;
  for (const OpCall& call : calls) sum += call.flops;
  return sum;
}

Flops FlopsOf(const net::ModelSpec& spec) {
  WatchedBackend backend;
  const auto model = net::MakeModel<float>(spec, backend, 1);
  const std::vector<float> weights(model->layout().size()), dvalue(1),
      dlogits(static_cast<std::size_t>(model->num_actions()));
  std::vector<float> gradient(weights.size());
  model->Forward(weights, 0, 1);
  const double forward = TotalFlops(backend.TakeCalls());
  model->Backward(weights, 0, 1, dlogits, dvalue, gradient);
  return {.forward = forward, .backward = TotalFlops(backend.TakeCalls())};
}

}  // namespace starling::bench
