// A step of an LSTM, one thread for each cell of each sample. Same formulas as
// net/reference/lstm.h.
#pragma once

#include <cmath>

#include "net/cuda/pack.h"

namespace starling::net::cuda {

HOST_DEVICE inline float Sigmoid(float value) { return 1 / (1 + std::exp(-value)); }

struct LstmCellForward {
  Divisor hidden;
  float* gates;  // (n, 4 hidden)
  const float* c_in;
  float *c, *h;  // (n, hidden)

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    float* const gate = gates + 4ll * width * sample + j;
    const float in = Sigmoid(gate[0]), forget = Sigmoid(gate[width]);
    const float cell = std::tanh(gate[2 * width]), out = Sigmoid(gate[3 * width]);
    gate[0] = in;
    gate[width] = forget;
    gate[2 * width] = cell;
    gate[3 * width] = out;
    c[i] = forget * c_in[i] + in * cell;
    h[i] = out * std::tanh(c[i]);
  }
};

struct LstmCellBackward {
  Divisor hidden;
  const float *gates, *c_in, *c, *dy, *dh;
  float *dc, *dgates;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const int j = hidden.Split(sample), width = hidden.divisor();
    const long long at = 4ll * width * sample + j;
    const float in = gates[at], forget = gates[at + width];
    const float cell = gates[at + 2 * width], out = gates[at + 3 * width];
    const float tanh_c = std::tanh(c[i]), d = dy[i] + dh[i];
    const float dcell_state = dc[i] + d * out * (1 - tanh_c * tanh_c);
    dgates[at] = dcell_state * cell * in * (1 - in);
    dgates[at + width] = dcell_state * c_in[i] * forget * (1 - forget);
    dgates[at + 2 * width] = dcell_state * in * (1 - cell * cell);
    dgates[at + 3 * width] = d * tanh_c * out * (1 - out);
    dc[i] = dcell_state * forget;
  }
};

}  // namespace starling::net::cuda
