#include <algorithm>
#include <cmath>

#include "net/cpu/layers.h"
#include "net/cpu/linear.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// The sum of wide(j), in sixteen partial sums, and of narrow(j) for the rest of [0, width).
template <class Wide, class Narrow>
float SumOf(int width, Wide wide, Narrow narrow) {
  Sixteen sums = {};
  int j = 0;
  for (; j + 16 <= width; j += 16) sums += wide(j);
  float sum = Sum(sums);
  for (; j < width; ++j) sum += narrow(j);
  return sum;
}

}  // namespace

void LayerNormForward(const LayerNormForwardArgs<float>& args) {
  auto [width, n, x, scale, bias, activation, moments, y] = args;
  const float each = 1.0f / static_cast<float>(width);
  const float least = activation == Activation::kRelu ? 0.0f : -__builtin_inff();
  for (int i = 0; i < n; ++i, x += width, y += width, moments += 2) {
    // 1. The moments, in two passes: a single pass would cancel where the mean is large.
    const float mean =
        each * SumOf(
                   width, [=](int j) { return At(x + j); }, [=](int j) { return x[j]; });
    const float variance =
        each * SumOf(
                   width, [=](int j) { return (At(x + j) - mean) * (At(x + j) - mean); },
                   [=](int j) { return (x[j] - mean) * (x[j] - mean); });
    const float rstd = 1.0f / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
    moments[0] = mean;
    moments[1] = rstd;
    // 2. The output.
    for (int j = 0; j < width; ++j) {
      const float value = (x[j] - mean) * rstd * scale[j] + bias[j];
      y[j] = value < least ? least : value;
    }
  }
}

void LayerNormBackward(const LayerNormBackwardArgs<float>& args) {
  auto [width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx] = args;
  const float each = 1.0f / static_cast<float>(width);
  std::fill_n(dscale, width, 0.0f);
  SumRows(n, width, dy, dbias);
  for (int i = 0; i < n; ++i, x += width, dy += width) {
    const float mean = moments[2 * i], rstd = moments[2 * i + 1];
    for (int j = 0; j < width; ++j) dscale[j] += (x[j] - mean) * rstd * dy[j];
    if (dx == nullptr) continue;
    // dx as in net/reference/layer_norm.h, with du = dy scale and u = (x - mean) rstd.
    const float mean_du = each * SumOf(
                                     width, [=](int j) { return At(dy + j) * At(scale + j); },
                                     [=](int j) { return dy[j] * scale[j]; });
    const float mean_udu =
        each * rstd *
        SumOf(
            width, [=](int j) { return (At(x + j) - mean) * At(dy + j) * At(scale + j); },
            [=](int j) { return (x[j] - mean) * dy[j] * scale[j]; });
    float* const to = dx + i * width;
    for (int j = 0; j < width; ++j) {
      to[j] = rstd * (dy[j] * scale[j] - mean_du - (x[j] - mean) * rstd * mean_udu);
    }
  }
  if (dx != nullptr && relu_output != nullptr) MaskByRelu(n * width, relu_output, dx);
}

}  // namespace starling::net::cpu
