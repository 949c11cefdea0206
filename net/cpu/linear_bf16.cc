#include "net/cpu/linear_bf16.h"

#include <algorithm>

#include "core/check.h"
#include "net/cpu/linear.h"

namespace starling::net::cpu {
namespace {

const Bfloat16* Converted(int count, const float* values, Buffer<Bfloat16>& into) {
  into.Reserve(static_cast<std::size_t>(count));
  ToBfloat16(count, values, into.data());
  return into.data();
}

}  // namespace

void Bf16Linear::HoldWeights(bool held) {
  CHECK(held != held_, "weights are held once at a time");
  held_ = held;
  for (Copy& copy : copies_) copy.fresh = false;
}

// Held weights that change all the same are found by comparing one row of them at each use.
const Bfloat16* Bf16Linear::Weights(const LinearShape& shape, const float* w) {
  auto copy = std::ranges::find(copies_, w, &Copy::of);
  if (copy == copies_.end()) copy = copies_.insert(copy, {.of = w});
  if (!copy->fresh) {
    Converted(shape.in * shape.out, w, copy->values);
    copy->fresh = held_;
    return copy->values.data();
  }
  copy->checked = (copy->checked + 1) % shape.in;
  const float* const row = w + copy->checked * shape.out;
  const Bfloat16* const kept = copy->values.data() + copy->checked * shape.out;
  CHECK(std::equal(row, row + shape.out, kept,
                   [](float value, Bfloat16 bits) { return ToBfloat16(value) == bits; }),
        "weights changed while they were held");
  return copy->values.data();
}

void Bf16Linear::Forward(const LinearShape& shape, int n, const float* x, const float* w,
                         const float* b, Activation activation, float* y) {
  const Bfloat16* const factor = Converted(n * shape.in, x, x_);
  gemm_(Order::kPlain, Order::kPlain, n, shape.out, shape.in, factor, Weights(shape, w), y);
  AddBiasActivate(n, shape.out, b, activation, y);
}

void Bf16Linear::BackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                                 float* dw, float* db) {
  const Bfloat16* const factor = Converted(n * shape.in, x, x_);
  gemm_(Order::kTransposed, Order::kPlain, shape.in, shape.out, n, factor,
        Converted(n * shape.out, dy, dy_), dw);
  SumRows(n, shape.out, dy, db);
}

void Bf16Linear::BackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                               const float* relu_output, float* dx) {
  const Bfloat16* const factor = Converted(n * shape.out, dy, dy_);
  gemm_(Order::kPlain, Order::kTransposed, n, shape.in, shape.out, factor, Weights(shape, w), dx);
  if (relu_output != nullptr) MaskByRelu(n * shape.in, relu_output, dx);
}

}  // namespace starling::net::cpu
