// Layer normalisation, one warp for each sample. Same formulas as net/reference/layer_norm.h.
#pragma once

#include <cmath>

#include "net/cuda/elementwise.h"

namespace starling::net::cuda {

struct LayerNormForward {
  int width;
  const float *x, *scale, *bias;
  Activation activation;
  float *moments, *y;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const float* const row = x + i * width;
    const int first = lanes.index(), step = lanes.count();
    const float mean =
        lanes.Sum(StridedSum<float>(first, width, step, [row](long long j) { return row[j]; })) /
        static_cast<float>(width);
    const auto square = [row, mean](long long j) { return (row[j] - mean) * (row[j] - mean); };
    const float variance =
        lanes.Sum(StridedSum<float>(first, width, step, square)) / static_cast<float>(width);
    const float rstd = 1 / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
    if (first == 0) {
      moments[2 * i] = mean;
      moments[2 * i + 1] = rstd;
    }
    for (int j = first; j < width; j += step) {
      y[i * width + j] = Activated(activation, (row[j] - mean) * rstd * scale[j] + bias[j]);
    }
  }
};

// Writes dx only; LayerNormPartials does the rest.
struct LayerNormBackward {
  int width;
  const float *x, *scale, *moments, *dy, *relu_output;
  float* dx;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const float mean = moments[2 * i], rstd = moments[2 * i + 1];
    const long long row = i * width;
    float du_sum = 0, udu_sum = 0;
    for (int j = lanes.index(); j < width; j += lanes.count()) {
      const float du = dy[row + j] * scale[j];
      du_sum += du;
      udu_sum += (x[row + j] - mean) * rstd * du;
    }
    const float mean_du = lanes.Sum(du_sum) / static_cast<float>(width);
    const float mean_udu = lanes.Sum(udu_sum) / static_cast<float>(width);
    for (int j = lanes.index(); j < width; j += lanes.count()) {
      const float u = (x[row + j] - mean) * rstd, du = dy[row + j] * scale[j];
      dx[row + j] = Masked(relu_output, row + j, rstd * (du - mean_du - u * mean_udu));
    }
  }
};

// partial (chunks, 2 width): dscale, then dbias; chunk c sums over the samples c, c + chunks, ...
struct LayerNormPartials {
  int width, n, chunks;
  Divisor columns;  // width
  const float *x, *moments, *dy;
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    int chunk = static_cast<int>(i);
    const int column = columns.Split(chunk);
    float dscale = 0, dbias = 0;
    for (long long sample = chunk; sample < n; sample += chunks) {
      const long long at = sample * width + column;
      const float mean = moments[2 * sample], rstd = moments[2 * sample + 1];
      dscale += (x[at] - mean) * rstd * dy[at];
      dbias += dy[at];
    }
    float* const to = partial + 2ll * width * chunk + column;
    to[0] = dscale;
    to[width] = dbias;
  }
};

}  // namespace starling::net::cuda
