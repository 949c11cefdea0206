#include "net/cpu/linear_bf16.h"

#include "net/cpu/linear.h"

namespace starling::net::cpu {
namespace {

const Bfloat16* Convert(int count, const float* values, Buffer<Bfloat16>& into) {
  into.Reserve(count);
  ToBfloat16(count, values, into.data());
  return into.data();
}

}  // namespace

void Bf16Linear::HoldWeights(bool held) {
  amx_.HoldWeights(held);
  weights_.Hold(held);
}

const Bfloat16* Bf16Linear::Weights(const LinearShape& shape, const float* w) {
  const int count = shape.in * shape.out;
  return weights_.Get(w, count, [&](Bfloat16* out) { ToBfloat16(count, w, out); });
}

void Bf16Linear::Forward(const LinearShape& shape, int n, const float* x, const float* w,
                         const float* b, Activation activation, float* y) {
  if (AmxLinear::Suits(shape)) return amx_.Forward(shape, n, x, w, b, activation, y);
  const Bfloat16* const factor = Convert(n * shape.in, x, x_);
  gemm_.Multiply(Order::kPlain, Order::kPlain, n, shape.out, shape.in, factor, Weights(shape, w),
                 y);
  AddBiasActivate(n, shape.out, b, activation, y);
}

void Bf16Linear::BackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                                 float* dw, float* db) {
  const Bfloat16* const factor = Convert(n * shape.in, x, x_);
  gemm_.Multiply(Order::kTransposed, Order::kPlain, shape.in, shape.out, n, factor,
                 Convert(n * shape.out, dy, dy_), dw);
  SumRows(n, shape.out, dy, db);
}

void Bf16Linear::BackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                               const float* relu_output, float* dx) {
  const Bfloat16* const factor = Convert(n * shape.out, dy, dy_);
  gemm_.Multiply(Order::kPlain, Order::kTransposed, n, shape.in, shape.out, factor,
                 Weights(shape, w), dx);
  if (relu_output != nullptr) MaskByRelu(n * shape.in, relu_output, dx);
}

void Bf16Linear::Backward(const LinearShape& shape, int n, const float* x, const float* w,
                          const float* dy, float* dw, float* db, float* dx) {
  if (AmxLinear::Suits(shape)) return amx_.Backward(shape, n, x, w, dy, dw, db, dx);
  BackwardWeights(shape, n, x, dy, dw, db);
  BackwardInput(shape, n, w, dy, x, dx);
}

}  // namespace starling::net::cpu
