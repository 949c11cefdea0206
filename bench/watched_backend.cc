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

void WatchedBackend::LinearForward(const net::LinearForwardArgs<float>& args) {
  Watch(args.shape, "forward", args.n, [&] { inner_->LinearForward(args); });
}
void WatchedBackend::LinearAccumulate(const LinearShape& shape, int n, const float* x,
                                      const float* w, float* y) {
  Watch(shape, "added", n, [&] { inner_->LinearAccumulate(shape, n, x, w, y); });
}
void WatchedBackend::LinearBackwardWeights(const net::LinearBackwardWeightsArgs<float>& args) {
  Watch(args.shape, "backward weights", args.n, [&] { inner_->LinearBackwardWeights(args); });
}
void WatchedBackend::LinearBackwardInput(const net::LinearBackwardInputArgs<float>& args) {
  Watch(args.shape, "backward input", args.n, [&] { inner_->LinearBackwardInput(args); });
}
void WatchedBackend::LinearBackward(const net::LinearBackwardArgs<float>& args) {
  Watch(
      args.shape, "backward", args.n, [&] { inner_->LinearBackward(args); }, 2);
}
void WatchedBackend::ConvForward(const net::ConvForwardArgs<float>& args) {
  Watch(args.shape, "forward", args.n, [&] { inner_->ConvForward(args); });
}
void WatchedBackend::ConvBackwardWeights(const net::ConvBackwardWeightsArgs<float>& args) {
  Watch(args.shape, "backward weights", args.n, [&] { inner_->ConvBackwardWeights(args); });
}
void WatchedBackend::ConvBackwardInput(const net::ConvBackwardInputArgs<float>& args) {
  Watch(args.shape, "backward input", args.n, [&] { inner_->ConvBackwardInput(args); });
}

// The rest is not products: no work is counted.
void WatchedBackend::Activate(net::Activation activation, int count, const float* x, float* y) {
  WatchCells("activation forward", count, [&] { inner_->Activate(activation, count, x, y); });
}
void WatchedBackend::ActivateBackward(const net::ActivateBackwardArgs<float>& args) {
  WatchCells("activation backward", args.count, [&] { inner_->ActivateBackward(args); });
}
void WatchedBackend::LayerNormForward(const net::LayerNormForwardArgs<float>& args) {
  WatchCells("layer norm forward", args.n, [&] { inner_->LayerNormForward(args); });
}
void WatchedBackend::LayerNormBackward(const net::LayerNormBackwardArgs<float>& args) {
  WatchCells("layer norm backward", args.n, [&] { inner_->LayerNormBackward(args); });
}
void WatchedBackend::LstmCellForward(const net::LstmCellForwardArgs<float>& args) {
  WatchCells("lstm cell forward", args.n, [&] { inner_->LstmCellForward(args); });
}
void WatchedBackend::LstmCellBackward(const net::LstmCellBackwardArgs<float>& args) {
  WatchCells("lstm cell backward", args.n, [&] { inner_->LstmCellBackward(args); });
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
