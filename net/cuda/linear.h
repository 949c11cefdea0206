// Fully connected layers on a GPU: products, or bodies of narrow.h for few outputs.
#pragma once

#include <type_traits>

#include "net/cuda/narrow.h"
#include "net/cuda/work.h"

namespace starling::net::cuda {

template <class Device>
class Linear {
 public:
  explicit Linear(Work<Device>& work) : work_(work) {}

  void Forward(const LinearForwardArgs<float>& args) {
    if (TryNarrow(args)) return;
    const auto [s, n, x, w, b, activation, y] = args;
    device().Multiply({.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .c = y});
    work_.AddBias(n, s.out, b, activation, y);
  }

  void Accumulate(const LinearShape& s, int n, const float* x, const float* w, float* y) {
    device().Multiply(
        {.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .put = Put::kAdd, .c = y});
  }

  void BackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
    if (TryNarrow(args)) return;
    const auto [s, n, x, dy, dw, db] = args;
    work_.MultiplyOverRows({.rows = s.in,
                            .depth = n,
                            .columns = s.out,
                            .a = x,
                            .a_transposed = true,
                            .b = dy,
                            .c = dw});
    work_.SumColumns(n, s.out, dy, db);
  }

  void BackwardInput(const LinearBackwardInputArgs<float>& args) {
    if (TryNarrow(args)) return;
    const auto [s, n, w, dy, put, relu_output, dx] = args;
    device().Multiply({.rows = n,
                       .depth = s.out,
                       .columns = s.in,
                       .a = dy,
                       .b = w,
                       .b_transposed = true,
                       .put = put,
                       .c = dx});
    work_.Mask(Rows(n) * s.in, relu_output, dx);
  }

  // Each returns whether it did the op: with bodies of narrow.h, for one layer or for two of one x.
  // For one layer `beside` is {}: its shape has one output, which fits, and the bodies see that its
  // arrays are nullptr.

  bool TryNarrow(const LinearForwardArgs<float>& args,
                 const LinearForwardArgs<float>& beside = {}) {
    if (!Fit(args.shape, beside.shape, args.w)) return false;
    WithOutputs(args.shape.out, [&](auto out) {
      device().ForEachWarp(args.n, NarrowForward<out()>{args, beside});
    });
    return true;
  }

  bool TryNarrow(const LinearBackwardWeightsArgs<float>& args,
                 const LinearBackwardWeightsArgs<float>& beside = {}) {
    if (!Fit(args.shape, beside.shape, args.dy)) return false;
    const auto [in, out] = args.shape;
    const bool pair = beside.dw != nullptr;
    const int n = args.n, inputs = in + 1;
    const SumTarget target{.arrays = {{args.dw, 1ll * in * out},
                                      {args.db, out},
                                      {beside.dw, pair ? in : 0},
                                      {beside.db, pair ? 1 : 0}}};
    work_.SumInChunks(n, inputs, pair ? out + 1 : out, target, [&](int chunks, float* partial) {
      WithOutputs(args.shape.out, [&](auto outputs) {
        device().ForEach(1ll * chunks * inputs,
                         NarrowWeightGradient<outputs()>{.a = args,
                                                         .beside = beside,
                                                         .inputs = Divisor(inputs),
                                                         .rows = (n + chunks - 1) / chunks,
                                                         .partial = partial});
      });
    });
    return true;
  }

  bool TryNarrow(const LinearBackwardInputArgs<float>& args,
                 const LinearBackwardInputArgs<float>& beside = {}) {
    if (!Fit(args.shape, beside.shape, args.w)) return false;
    WithOutputs(args.shape.out, [&](auto out) {
      using Body = NarrowBackwardInput<out()>;
      const int in = args.shape.in;
      device().ForEach(Body::Threads(args.n, in), Body{args, beside, Divisor(in)});
    });
    return true;
  }

 private:
  static long long Rows(int n) { return n; }
  Device& device() { return work_.device(); }

  // Whether the bodies of narrow.h serve a layer, whose array `loaded` they load in packs, and the
  // one beside it.
  bool Fit(const LinearShape& shape, const LinearShape& beside, const float* loaded) const {
    return work_.limits().direct && shape.out <= kNarrow && beside.out == 1 && Aligned({loaded});
  }

  // Calls queue(out) with `out` as a constant.
  template <int kOut = kNarrow, class Queue>
  static void WithOutputs(int out, const Queue& queue) {
    if (out == kOut) return queue(std::integral_constant<int, kOut>());
    if constexpr (kOut > 1) WithOutputs<kOut - 1>(out, queue);
  }

  Work<Device>& work_;
};

}  // namespace starling::net::cuda
