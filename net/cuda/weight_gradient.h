// Gradients of weights without patches or products (DirectWeightGradient in direct.h).
#pragma once

#include "net/cuda/direct.h"
#include "net/cuda/work.h"

namespace starling::net::cuda {

// Both gradients of a convolution with kOut outputs (direct.h) over n samples.
template <int kOut, class Device>
void WeightGradient(Work<Device>& work, const ConvShape& s, int n, const float* x, const float* dy,
                    float* dw, float* db) {
  const int inputs = s.patch() + 1, cells = n * s.out_cells();
  const int chunks = Work<Device>::Chunks(cells, inputs), each = (cells + chunks - 1) / chunks;
  const long long size = 1ll * inputs * s.out_channels;
  float* const partial = work.scratch().template Get<float>(Scratch::kSums, chunks * size);
  work.device().ForEach(
      1ll * chunks * inputs,
      DirectWeightGradient<kOut>{s, ConvDivisors(s), Divisor(inputs), each, cells, x, dy, partial});
  work.SumOver(chunks, size, partial, {Put::kReplace, s.num_weights(), dw, db});
}

}  // namespace starling::net::cuda
