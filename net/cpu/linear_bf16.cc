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

void Bf16Linear::Forward(const LinearForwardArgs<float>& args) {
  const auto [shape, n, x, w, b, activation, y] = args;
  if (AmxLinear::Suits(shape)) return amx_.Forward(args);
  gemm_.Multiply({.rows = n,
                  .depth = shape.in,
                  .columns = shape.out,
                  .a = Convert(n * shape.in, x, x_),
                  .b = Weights(shape, w),
                  .c = y});
  AddBiasActivate(n, shape.out, b, activation, y);
}

void Bf16Linear::BackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
  const auto [shape, n, x, dy, dw, db] = args;
  gemm_.Multiply({.rows = shape.in,
                  .depth = n,
                  .columns = shape.out,
                  .a = Convert(n * shape.in, x, x_),
                  .a_transposed = true,
                  .b = Convert(n * shape.out, dy, dy_),
                  .c = dw});
  SumRows(n, shape.out, dy, db);
}

void Bf16Linear::BackwardInput(const LinearBackwardInputArgs<float>& args) {
  const auto [shape, n, w, dy, put, relu_output, dx] = args;
  gemm_.Multiply({.rows = n,
                  .depth = shape.out,
                  .columns = shape.in,
                  .a = Convert(n * shape.out, dy, dy_),
                  .b = Weights(shape, w),
                  .b_transposed = true,
                  .put = put,
                  .c = dx});
  if (relu_output != nullptr) MaskByRelu(n * shape.in, relu_output, dx);
}

void Bf16Linear::Backward(const LinearBackwardArgs<float>& args) {
  if (AmxLinear::Suits(args.shape)) return amx_.Backward(args);
  BackwardWeights(args.weights());
  BackwardInput(args.input());
}

}  // namespace starling::net::cpu
