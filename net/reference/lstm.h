// The definition of a step of an LSTM; shapes in net/op_args.h.
#pragma once

#include <cmath>

#include "net/op_args.h"

namespace starling::net::reference {

template <class T>
T Sigmoid(T value) {
  return 1 / (1 + std::exp(-value));
}

template <class T>
void LstmCellForward(const LstmCellForwardArgs<T>& args) {
  auto [hidden, n, gates, c_in, c, h] = args;
  for (int i = 0; i < n; ++i, gates += 4 * hidden, c_in += hidden, c += hidden, h += hidden) {
    for (int j = 0; j < hidden; ++j) {
      T &in = gates[j], &forget = gates[hidden + j];
      T &cell = gates[2 * hidden + j], &out = gates[3 * hidden + j];
      in = Sigmoid(in);
      forget = Sigmoid(forget);
      cell = std::tanh(cell);
      out = Sigmoid(out);
      c[j] = forget * c_in[j] + in * cell;
      h[j] = out * std::tanh(c[j]);
    }
  }
}

// The derivative of a sigmoid s is s (1 - s), that of a tanh t is 1 - t^2.
template <class T>
void LstmCellBackward(const LstmCellBackwardArgs<T>& args) {
  auto [hidden, n, gates, c_in, c, dy, dh, dc, dgates] = args;
  for (int i = 0; i < n; ++i, gates += 4 * hidden, dgates += 4 * hidden) {
    for (int j = 0; j < hidden; ++j) {
      const int at = i * hidden + j;
      const T in = gates[j], forget = gates[hidden + j];
      const T cell = gates[2 * hidden + j], out = gates[3 * hidden + j];
      const T tanh_c = std::tanh(c[at]), d = dy[at] + dh[at];
      const T dcell_state = dc[at] + d * out * (1 - tanh_c * tanh_c);
      dgates[j] = dcell_state * cell * in * (1 - in);
      dgates[hidden + j] = dcell_state * c_in[at] * forget * (1 - forget);
      dgates[2 * hidden + j] = dcell_state * in * (1 - cell * cell);
      dgates[3 * hidden + j] = d * tanh_c * out * (1 - out);
      dc[at] = dcell_state * forget;
    }
  }
}

template <class T>
void KeepState(int width, int n, const std::uint8_t* resets, const T* from, T* to) {
  for (int i = 0; i < n; ++i) {
    for (int j = i * width; j < (i + 1) * width; ++j) to[j] = resets[i] != 0 ? T(0) : from[j];
  }
}

}  // namespace starling::net::reference
