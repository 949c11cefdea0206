// The definition of layer normalisation; shapes in net/op_args.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "net/reference/activation.h"

namespace starling::net::reference {

template <class T>
void LayerNormForward(const LayerNormForwardArgs<T>& args) {
  auto [width, n, x, scale, bias, activation, moments, y] = args;
  const T count = static_cast<T>(width);
  for (int i = 0; i < n; ++i, x += width, y += width, moments += 2) {
    T mean = 0, variance = 0;
    for (int j = 0; j < width; ++j) mean += x[j] / count;
    for (int j = 0; j < width; ++j) variance += (x[j] - mean) * (x[j] - mean) / count;
    const T rstd = 1 / std::sqrt(variance + T(kLayerNormEpsilon));
    moments[0] = mean;
    moments[1] = rstd;
    for (int j = 0; j < width; ++j) {
      y[j] = Activate(activation, (x[j] - mean) * rstd * scale[j] + bias[j]);
    }
  }
}

// With u = (x - mean) rstd and du = dy scale: dx = rstd (du - mean(du) - u mean(u du)).
template <class T>
void LayerNormBackward(const LayerNormBackwardArgs<T>& args) {
  const auto [width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx] = args;
  const T count = static_cast<T>(width);
  std::fill_n(dscale, width, T(0));
  std::fill_n(dbias, width, T(0));
  for (int i = 0; i < n; ++i) {
    const int row = i * width;
    const T mean = moments[2 * i], rstd = moments[2 * i + 1];
    // 1. The gradients of the parameters, and the two means.
    T mean_du = 0, mean_udu = 0;
    for (int j = 0; j < width; ++j) {
      const T u = (x[row + j] - mean) * rstd, du = dy[row + j] * scale[j];
      dscale[j] += u * dy[row + j];
      dbias[j] += dy[row + j];
      mean_du += du / count;
      mean_udu += u * du / count;
    }
    if (dx == nullptr) continue;
    // 2. The gradient of the input.
    for (int j = 0; j < width; ++j) {
      const T u = (x[row + j] - mean) * rstd, du = dy[row + j] * scale[j];
      dx[row + j] = Masked(relu_output, row + j, rstd * (du - mean_du - u * mean_udu));
    }
  }
}

}  // namespace starling::net::reference
