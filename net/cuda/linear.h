// Fully connected layers on a GPU: products, or bodies of direct.h for few outputs.
#pragma once

#include "net/cuda/direct.h"
#include "net/cuda/work.h"

namespace starling::net::cuda {

inline constexpr int kNarrow = 8;  // the most outputs for the bodies of direct.h

template <class Device>
class Linear {
 public:
  explicit Linear(Work<Device>& work) : work_(work) {}

  void Forward(const LinearForwardArgs<float>& args) {
    const auto [s, n, x, w, b, activation, y] = args;
    if (Narrow(s)) {
      return device().ForEachWarp(Rows(n) * s.out, NarrowForward{args, Divisor(s.out)});
    }
    device().Multiply({.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .c = y});
    work_.AddBias(n, s.out, b, activation, y);
  }

  void Accumulate(const LinearShape& s, int n, const float* x, const float* w, float* y) {
    device().Multiply(
        {.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .put = Put::kAdd, .c = y});
  }

  void BackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
    const auto [s, n, x, dy, dw, db] = args;
    if (Narrow(s) && Aligned({dy})) return NarrowBackwardWeights(args);
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
    const auto [s, n, w, dy, put, relu_output, dx] = args;
    if (Narrow(s)) {
      return device().ForEach(Rows(n) * s.in, NarrowBackwardInput{args, Divisor(s.in)});
    }
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

 private:
  static long long Rows(int n) { return n; }
  Device& device() { return work_.device(); }
  bool Narrow(const LinearShape& s) const { return work_.limits().direct && s.out <= kNarrow; }

  template <int kOut = kNarrow>
  void NarrowBackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
    if (args.shape.out == kOut) {
      const int n = args.n, in = args.shape.in, inputs = in + 1;
      const SumTarget target{.split = 1ll * in * kOut, .first = args.dw, .others = args.db};
      work_.SumInChunks(n, inputs, kOut, target, [&](int chunks, float* partial) {
        device().ForEach(1ll * chunks * inputs,
                         NarrowWeightGradient<kOut>{.a = args,
                                                    .inputs = Divisor(inputs),
                                                    .rows = (n + chunks - 1) / chunks,
                                                    .partial = partial});
      });
    } else if constexpr (kOut > 1) {
      NarrowBackwardWeights<kOut - 1>(args);
    }
  }

  Work<Device>& work_;
};

}  // namespace starling::net::cuda
