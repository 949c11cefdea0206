// The parts of GPU ops: passes over numbers, sums over rows, products divided into shares.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/memory.h"
#include "net/cuda/device.h"
#include "net/cuda/elementwise.h"
#include "net/cuda/sums.h"

namespace starling::net::cuda {

// Temporary arrays of the ops. They only grow, and earlier arrays stay allocated, because recorded
// graphs still use them.
class Scratch {
 public:
  enum Use : std::uint8_t { kPatches, kShares, kSums, kFactor, kUses };

  explicit Scratch(Memory& memory) : memory_(memory) {}

  // Returns at least `size` elements, which are valid until the next call for the same use.
  template <class T>
  T* Get(Use use, long long size) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = size * sizeof(T);
    std::vector<Buffer<std::byte>>& given = given_.at(use);
    if (given.empty() || given.back().size() < bytes) given.emplace_back(bytes, memory_);
    return reinterpret_cast<T*>(given.back().data());
  }

 private:
  Memory& memory_;
  std::array<std::vector<Buffer<std::byte>>, kUses> given_;
};

template <class Device>
class Work {
 public:
  Work(Device& device, const Limits& limits)
      : device_(device), limits_(limits), scratch_(device.memory()) {}

  Device& device() { return device_; }
  const Limits& limits() const { return limits_; }
  Scratch& scratch() { return scratch_; }
  // Room for the parts of sums; valid until the next call.
  template <class T>
  T* Sums(long long size) {
    return scratch_.template Get<T>(Scratch::kSums, size);
  }
  float* Factor() { return scratch_.template Get<float>(Scratch::kFactor, 1); }

  // Runs Body<1> for each of n numbers or, if `fours`, Body<4> for each four of them.
  template <template <int> class Body, class... Arguments>
  void ForEachNumber(long long n, bool fours, const Arguments&... arguments) {
    if (fours) {
      device_.ForEach(n / 4, Body<4>{arguments...});
    } else {
      device_.ForEach(n, Body<1>{arguments...});
    }
  }

  // y (n, columns) = activation(y + bias).
  void AddBias(long long n, int columns, const float* bias, Activation activation, float* y) {
    ForEachNumber<BiasActivation>(n * columns, columns % 4 == 0 && Aligned({bias, y}),
                                  Divisor(columns), bias, activation, y);
  }
  void Mask(long long size, const float* relu_output, float* dx) {
    if (relu_output == nullptr) return;
    ForEachNumber<ReluMask>(size, size % 4 == 0 && Aligned({relu_output, dx}), relu_output, dx);
  }

  // target (size) = the sum over shares of partial (shares, size).
  void SumOver(int shares, long long size, const float* partial, const SumTarget& target) {
    if (size >= kManySums || shares <= kFewShares) {
      device_.ForEach(size, SumShares{shares, size, partial, target});
    } else {
      device_.ForEachWarp(size, SumSharesByWarps{shares, size, partial, target});
    }
  }
  // to (columns) = the sum over the rows of x (rows, columns).
  void SumColumns(int rows, int columns, const float* x, float* to) {
    const SumTarget target{.arrays = {{to, columns}}};
    const int chunks = Chunks(rows, columns);
    if (chunks <= 1) return SumOver(rows, columns, x, target);
    const long long threads = 1ll * chunks * columns;
    float* const partial = Sums<float>(threads);
    device_.ForEach(threads, ColumnPartials{1ll * rows * columns, threads, x, partial});
    SumOver(chunks, columns, partial, target);
  }
  // The gradients of weights and biases, inputs * outputs numbers, as sums over `rows`:
  // queue(chunks, partial) queues the partial sums of each chunk of rows, in the order of target.
  template <class Queue>
  void SumInChunks(int rows, int inputs, int outputs, const SumTarget& target, const Queue& queue) {
    const int chunks = Chunks(rows, inputs);
    const long long size = 1ll * inputs * outputs;
    float* const partial = Sums<float>(chunks * size);
    queue(chunks, partial);
    SumOver(chunks, size, partial, target);
  }
  // The number of chunks of a sum over `rows`, where each chunk takes `width` threads.
  static int Chunks(int rows, int width) {
    return std::max(1, std::min({kThreads / width, rows / kRowsOfAChunk, kMaxChunks}));
  }

  // device().Multiply(product), where a long depth is divided into shares: if c is small, one
  // product would leave most of the GPU idle. REQUIRES: only a is transposed.
  void MultiplyOverRows(MatrixProduct product) {
    const int shares = Shares(product);
    if (shares == 1) return device_.Multiply(product);
    const long long size = 1ll * product.rows * product.columns;
    const SumTarget target{.arrays = {{product.c, size}}, .put = product.put};
    // 1. Equal shares, side by side.
    const int each = product.depth / shares / kRowsAtOnce * kRowsAtOnce;
    const int rest = product.depth - shares * each;
    product.depth = each;
    product.put = Put::kReplace;
    product.c = scratch_.Get<float>(Scratch::kShares, (shares + 1) * size);
    product.shares = shares;
    product.a_stride = 1ll * each * product.rows;
    product.b_stride = 1ll * each * product.columns;
    product.c_stride = size;
    float* const partial = product.c;
    device_.Multiply(product);
    // 2. What is left of the depth.
    if (rest > 0) {
      product.a += shares * product.a_stride;
      product.b += shares * product.b_stride;
      product.c += shares * product.c_stride;
      product.depth = rest;
      product.shares = 1;
      device_.Multiply(product);
    }
    // 3. The sum of all shares.
    SumOver(shares + (rest > 0 ? 1 : 0), size, partial, target);
  }

 private:
  // Enough threads to fill a GPU, in no more chunks than are summed quickly afterwards.
  static constexpr int kThreads = 1 << 17, kRowsOfAChunk = 8, kMaxChunks = 4096;
  // From so many sums, or up to so few shares, one thread for each sum is faster than one warp.
  static constexpr long long kManySums = 1 << 14;
  static constexpr int kFewShares = 8;
  // Assumed of cuBLAS: a block of threads computes kTile x kTile outputs; kTiles blocks fill a GPU.
  static constexpr int kTile = 64, kTiles = 512;
  static constexpr int kRowsOfAShare = 256, kRowsAtOnce = 4;

  int Shares(const MatrixProduct& p) const {
    const long long tiles =
        1ll * ((p.rows + kTile - 1) / kTile) * ((p.columns + kTile - 1) / kTile);
    const long long wanted =
        std::min<long long>({kTiles / tiles, limits_.shares, p.depth / kRowsOfAShare});
    return wanted <= 1 ? 1 : static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted)));
  }

  Device& device_;
  const Limits limits_;
  Scratch scratch_;
};

}  // namespace starling::net::cuda
