// A step of an LSTM, one thread for each cell of each sample. Same formulas as
// net/reference/lstm.h.
#pragma once

#include <cmath>

#include "net/cuda/pack.h"
#include "net/op_args.h"

namespace starling::net::cuda {

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

}  // namespace starling::net::cuda
