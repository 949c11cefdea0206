// Layer normalisation, one warp for each sample, and cells of LSTMs and GRUs, one thread for each.
// Same formulas as net/reference.cc.
#pragma once

#include <cmath>

#include "net/cuda/elementwise.h"
#include "net/op_args.h"

namespace starling::net::cuda {

struct LayerNormForward {
  LayerNormForwardArgs<float> a;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const int width = a.width, first = lanes.index(), step = lanes.count();
    const float* const row = a.x + i * width;
    const float mean =
        lanes.Sum(StridedSum<float>(first, width, step, [row](long long j) { return row[j]; })) /
        static_cast<float>(width);
    const auto square = [row, mean](long long j) { return (row[j] - mean) * (row[j] - mean); };
    const float variance =
        lanes.Sum(StridedSum<float>(first, width, step, square)) / static_cast<float>(width);
    const float rstd = 1 / std::sqrt(variance + static_cast<float>(kLayerNormEpsilon));
    if (first == 0) {
      a.moments[2 * i] = mean;
      a.moments[2 * i + 1] = rstd;
    }
    for (int j = first; j < width; j += step) {
      a.y[i * width + j] = Activated(a.activation, (row[j] - mean) * rstd * a.scale[j] + a.bias[j]);
    }
  }
};

struct LayerNormInputGradient {
  LayerNormBackwardArgs<float> a;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const int width = a.width, first = lanes.index(), step = lanes.count();
    const float mean = a.moments[2 * i], rstd = a.moments[2 * i + 1];
    const long long row = i * width;
    float du_sum = 0, udu_sum = 0;
    for (int j = first; j < width; j += step) {
      const float du = a.dy[row + j] * a.scale[j];
      du_sum += du;
      udu_sum += (a.x[row + j] - mean) * rstd * du;
    }
    const float mean_du = lanes.Sum(du_sum) / static_cast<float>(width);
    const float mean_udu = lanes.Sum(udu_sum) / static_cast<float>(width);
    for (int j = first; j < width; j += step) {
      const float u = (a.x[row + j] - mean) * rstd, du = a.dy[row + j] * a.scale[j];
      a.dx[row + j] = Masked(a.relu_output, row + j, rstd * (du - mean_du - u * mean_udu));
    }
  }
};

// partial (chunks, 2 width): dscale, then dbias; chunk c sums over the samples c, c + chunks, ...
struct LayerNormPartials {
  LayerNormBackwardArgs<float> a;
  int chunks;
  Divisor columns;  // width
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    int chunk = static_cast<int>(i);
    const int column = columns.Split(chunk);
    float dscale = 0, dbias = 0;
    for (long long sample = chunk; sample < a.n; sample += chunks) {
      const long long at = sample * a.width + column;
      const float mean = a.moments[2 * sample], rstd = a.moments[2 * sample + 1];
      dscale += (a.x[at] - mean) * rstd * a.dy[at];
      dbias += a.dy[at];
    }
    float* const to = partial + 2ll * a.width * chunk + column;
    to[0] = dscale;
    to[a.width] = dbias;
  }
};

template <class Device>
void LayerNormBackward(Work<Device>& work, const LayerNormBackwardArgs<float>& args) {
  if (args.dx != nullptr) work.device().ForEachWarp(args.n, LayerNormInputGradient{args});
  if (args.dscale == nullptr) return;
  // The gradients of scale and bias: partial sums by many threads, then their sum.
  const int width = args.width, chunks = Work<Device>::Chunks(args.n, width);
  const long long sums = 1ll * chunks * width;
  float* const partial = work.template Sums<float>(2 * sums);
  work.device().ForEach(sums, LayerNormPartials{args, chunks, Divisor(width), partial});
  work.SumOver(chunks, 2ll * width, partial,
               {.arrays = {{args.dscale, width}, {args.dbias, width}}});
}

HOST_DEVICE inline float Sigmoid(float value) { return 1 / (1 + std::exp(-value)); }

struct LstmCellForward {
  LstmCellForwardArgs<float> a;
  Divisor hidden;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    float* const gate = a.gates + 4ll * width * sample + j;
    const float in = Sigmoid(gate[0]), forget = Sigmoid(gate[width]);
    const float cell = std::tanh(gate[2 * width]), out = Sigmoid(gate[3 * width]);
    gate[0] = in;
    gate[width] = forget;
    gate[2 * width] = cell;
    gate[3 * width] = out;
    a.c[i] = forget * a.c_in[i] + in * cell;
    a.h[i] = out * std::tanh(a.c[i]);
  }
};

struct LstmCellBackward {
  LstmCellBackwardArgs<float> a;
  Divisor hidden;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    const long long at = 4ll * width * sample + j;
    const float* const gate = a.gates + at;
    const float in = gate[0], forget = gate[width];
    const float cell = gate[2 * width], out = gate[3 * width];
    const float tanh_c = std::tanh(a.c[i]), d = a.dy[i] + a.dh[i];
    const float dcell_state = a.dc[i] + d * out * (1 - tanh_c * tanh_c);
    float* const to = a.dgates + at;
    to[0] = dcell_state * cell * in * (1 - in);
    to[width] = dcell_state * a.c_in[i] * forget * (1 - forget);
    to[2 * width] = dcell_state * in * (1 - cell * cell);
    to[3 * width] = d * tanh_c * out * (1 - out);
    a.dc[i] = dcell_state * forget;
  }
};

struct GruCellForward {
  GruCellForwardArgs<float> a;
  Divisor hidden;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    const long long at = 3ll * width * sample + j;
    float* const gate = a.gates + at;
    const float* const from_h = a.from_h + at;
    const float reset = Sigmoid(gate[0] + from_h[0]);
    const float update = Sigmoid(gate[width] + from_h[width]);
    const float memory = std::tanh(gate[2 * width] + reset * from_h[2 * width]);
    gate[0] = reset;
    gate[width] = update;
    gate[2 * width] = memory;
    a.h[i] = (1 - update) * memory + update * a.h_in[i];
  }
};

struct GruCellBackward {
  GruCellBackwardArgs<float> a;
  Divisor hidden;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    const long long of_r = 3ll * width * sample + j, of_z = of_r + width, of_m = of_z + width;
    const float reset = a.gates[of_r], update = a.gates[of_z], memory = a.gates[of_m];
    const float d = a.dy[i] + a.dh[i], dmemory = d * (1 - update) * (1 - memory * memory);
    a.dx_sums[of_r] = a.dh_sums[of_r] = dmemory * a.from_h[of_m] * reset * (1 - reset);
    a.dx_sums[of_z] = a.dh_sums[of_z] = d * (a.h_in[i] - memory) * update * (1 - update);
    a.dx_sums[of_m] = dmemory;
    a.dh_sums[of_m] = dmemory * reset;
    a.dh[i] = d * update;
  }
};

}  // namespace starling::net::cuda
