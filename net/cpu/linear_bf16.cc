#include "net/cpu/linear_bf16.h"

#include <algorithm>

#include "net/cpu/layers.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

using amx::kTile;

int Blocks(int n) { return (n + 31) / 32; }  // of 32 rows; the last is padded with zeros

// Reserves `tiles` tiles.
Bfloat16* Tiles(int tiles, Buffer<Bfloat16>& buffer) {
  buffer.Reserve(tiles * kTile);
  return buffer.data();
}

// Left tiles (rows / 16, width / 32) of x (n, width).
Bfloat16* PackLeft(int n, int width, const float* x, Buffer<Bfloat16>& buffer) {
  Bfloat16* const tiles = Tiles(2 * Blocks(n) * (width / 32), buffer);
  Bfloat16* tile = tiles;
  for (int i = 0; i < 32 * Blocks(n); i += 16) {
    for (int k = 0; k < width; k += 32, tile += kTile) {
      amx::PackRows(x + i * width + k, width, n - i, tile);
    }
  }
  return tiles;
}

// Right tiles (width / 16, rows / 32) of x (n, width), whose rows are the terms.
void PackRight(int n, int width, const float* x, Bfloat16* tile) {
  for (int j = 0; j < width; j += 16) {
    for (int k = 0; k < n; k += 32, tile += kTile) {
      amx::PackPairs(x + k * width + j, width, n - k, tile);
    }
  }
}

// dx = sums (rows, 32), zero where x is not positive; rows of x and dx lie `width` apart.
void StoreMasked(int rows, int width, const float* sums, const float* x, float* dx) {
  for (int row = 0; row < rows; ++row, x += width, dx += width, sums += 32) {
    for (int v = 0; v < 32; v += kLanes) At(dx + v) = At(x + v) > 0.0f ? At(sums + v) : Lanes{};
  }
}

const Bfloat16* Convert(int count, const float* values, Buffer<Bfloat16>& into) {
  into.Reserve(count);
  ToBfloat16(count, values, into.data());
  return into.data();
}

}  // namespace

void AmxLinear::Forward(const LinearForwardArgs<float>& args) {
  const auto [shape, n, x, w, b, activation, y] = args;
  // 1. Convert the factors to tiles; the weights only once while they are held.
  const int steps = shape.in / 32, next = steps * kTile;
  const Bfloat16* const right = weights_.Get(
      w, shape.in * shape.out, [&](Bfloat16* tiles) { PackRight(shape.in, shape.out, w, tiles); });
  const Bfloat16* const left = PackLeft(n, shape.in, x, left_);
  // 2. Multiply in blocks of 32 x 32 outputs.
  const Lanes least = Least(activation);
  alignas(64) float sums[32 * 32];
  const amx::Session session;
  for (int j = 0; j < shape.out; j += 32) {
    for (int i = 0; i < n; i += 32) {
      amx::Multiply({left + i / 16 * next, next}, {right + j / 16 * next, next}, steps, sums, 32);
      for (int row = 0; row < std::min(32, n - i); ++row) {
        for (int v = 0; v < 32; v += kLanes) {
          const Lanes sum = At(sums + 32 * row + v) + At(b + j + v);
          At(y + (i + row) * shape.out + j + v) = sum < least ? least : sum;
        }
      }
    }
  }
}

// x and dx are much larger than the other arrays. So one pass over blocks of 32 samples does both:
// it packs x for dw and computes dx while the block is in cache.
void AmxLinear::Backward(const LinearBackwardArgs<float>& args) {
  const auto [shape, n, x, w, dy, dw, db, dx] = args;
  const int in = shape.in, out = shape.out, samples = Blocks(n), outs = out / 32;
  const int over_outs = outs * kTile, over_samples = samples * kTile;
  // 1. Convert dy, as both factors, and the transpose of w: (IN / 16, OUT / 32).
  const Bfloat16* const dy_left = PackLeft(n, out, dy, left_);
  Bfloat16* const dy_right = Tiles(samples * 2 * outs, right_);
  PackRight(n, out, dy, dy_right);
  Bfloat16* const w_right = Tiles(in / 16 * outs, w_);
  for (int k = 0; k < in; k += 16) {
    for (int j = 0; j < outs; ++j) {
      amx::PackPairsTransposed(w + k * out + 32 * j, out, w_right + (k / 16 * outs + j) * kTile);
    }
  }
  // 2. Convert the transpose of x, (IN / 16, samples / 32), and compute dx.
  Bfloat16* const x_left = Tiles(in / 16 * samples, x_);
  const amx::Session session;
  for (int i = 0; i < samples; ++i) {
    const int first = 32 * i, rows = std::min(32, n - first);
    for (int k = 0; k < in; k += 16) {
      amx::PackRowsTransposed(x + first * in + k, in, rows,
                              x_left + (k / 16 * samples + i) * kTile);
    }
    for (int k = 0; k < in; k += 32) {
      alignas(64) float sums[32 * 32];
      amx::Multiply({dy_left + 2 * i * over_outs, over_outs},
                    {w_right + k / 16 * over_outs, over_outs}, outs, sums, 32);
      StoreMasked(rows, in, sums, x + first * in + k, dx + first * in + k);
    }
  }
  // 3. Compute dw, over all samples, and db.
  for (int k = 0; k < in; k += 32) {
    for (int j = 0; j < outs; ++j) {
      amx::Multiply({x_left + k / 16 * over_samples, over_samples},
                    {dy_right + 2 * j * over_samples, over_samples}, samples, dw + k * out + 32 * j,
                    out);
    }
  }
  SumRows(n, out, dy, db);
}

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
