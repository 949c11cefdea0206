// Fully connected layers on a GPU: products, or bodies of direct.h for few outputs.
#pragma once

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

  // A convolution of one sample, whose cells are the rows of x.
  template <int kOut = kNarrow>
  void NarrowBackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
    const auto [s, n, x, dy, dw, db] = args;
    if (s.out == kOut) {
      work_.template WeightGradient<kOut>({.shape = {.height = 1,
                                                     .width = n,
                                                     .in_channels = s.in,
                                                     .kernel_height = 1,
                                                     .kernel_width = 1,
                                                     .stride = 1,
                                                     .out_channels = s.out},
                                           .n = 1,
                                           .x = x,
                                           .dy = dy,
                                           .dw = dw,
                                           .db = db});
    } else if constexpr (kOut > 1) {
      NarrowBackwardWeights<kOut - 1>(args);
    }
  }

  Work<Device>& work_;
};

}  // namespace starling::net::cuda
