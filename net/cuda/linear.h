// Fully connected layers on a GPU: products, or bodies of direct.h for few outputs.
#pragma once

#include "net/cuda/weight_gradient.h"

namespace starling::net::cuda {

inline constexpr int kNarrow = 8;  // the most outputs for the bodies of direct.h

template <class Device>
class Linear {
 public:
  explicit Linear(Work<Device>& work) : work_(work) {}

  void Forward(const LinearShape& s, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y) {
    if (Narrow(s)) {
      return device().ForEachWarp(Rows(n) * s.out,
                                  NarrowForward{s.in, Divisor(s.out), x, w, b, activation, y});
    }
    device().Multiply({.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .c = y});
    work_.AddBias(n, s.out, b, activation, y);
  }

  void Accumulate(const LinearShape& s, int n, const float* x, const float* w, float* y) {
    device().Multiply(
        {.rows = n, .depth = s.in, .columns = s.out, .a = x, .b = w, .put = Put::kAdd, .c = y});
  }

  void BackwardWeights(const LinearShape& s, int n, const float* x, const float* dy, float* dw,
                       float* db) {
    if (Narrow(s) && Aligned({dy})) return NarrowBackwardWeights(s, n, x, dy, dw, db);
    work_.MultiplyOverRows(n, s.in, s.out, x, dy, Put::kReplace, dw);
    work_.SumColumns(n, s.out, dy, db);
  }

  void BackwardInput(const LinearShape& s, int n, const float* w, const float* dy, Put put,
                     const float* relu_output, float* dx) {
    if (Narrow(s)) {
      return device().ForEach(
          Rows(n) * s.in, NarrowBackwardInput{Divisor(s.in), s.out, w, dy, put, relu_output, dx});
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
  void NarrowBackwardWeights(const LinearShape& s, int n, const float* x, const float* dy,
                             float* dw, float* db) {
    if (s.out == kOut) {
      const ConvShape row{.height = 1,
                          .width = n,
                          .in_channels = s.in,
                          .kernel_height = 1,
                          .kernel_width = 1,
                          .stride = 1,
                          .out_channels = s.out};
      WeightGradient<kOut>(work_, row, 1, x, dy, dw, db);
    } else if constexpr (kOut > 1) {
      NarrowBackwardWeights<kOut - 1>(s, n, x, dy, dw, db);
    }
  }

  Work<Device>& work_;
};

}  // namespace starling::net::cuda
