#include "net/cpu/lstm.h"

#include <algorithm>

#include "net/cpu/functions.h"
#include "net/reference/lstm.h"

namespace starling::net::cpu {
namespace {

// The gates of sixteen cells of one sample, which lie `hidden` floats apart.
struct Gates {
  Sixteen in, forget, cell, out;
  Gates(const float* at, int hidden)
      : in(At(at)), forget(At(at + hidden)), cell(At(at + 2 * hidden)), out(At(at + 3 * hidden)) {}
  void Write(float* at, int hidden) const {
    At(at) = in;
    At(at + hidden) = forget;
    At(at + 2 * hidden) = cell;
    At(at + 3 * hidden) = out;
  }
};

void Forward(int hidden, float* gates, const float* c_in, float* c, float* h) {
  Gates g(gates, hidden);
  g.in = Sigmoid(g.in);
  g.forget = Sigmoid(g.forget);
  g.cell = Tanh(g.cell);
  g.out = Sigmoid(g.out);
  g.Write(gates, hidden);
  const Sixteen state = g.forget * At(c_in) + g.in * g.cell;
  At(c) = state;
  At(h) = g.out * Tanh(state);
}

void Backward(int hidden, const float* gates, const float* c_in, const float* c, const float* dy,
              const float* dh, float* dc, float* dgates) {
  const Gates g(gates, hidden);
  const Sixteen tanh_c = Tanh(At(c)), d = At(dy) + At(dh);
  const Sixteen dstate = At(dc) + d * g.out * (1 - tanh_c * tanh_c);
  Gates dg = g;
  dg.in = dstate * g.cell * g.in * (1 - g.in);
  dg.forget = dstate * At(c_in) * g.forget * (1 - g.forget);
  dg.cell = dstate * g.in * (1 - g.cell * g.cell);
  dg.out = d * tanh_c * g.out * (1 - g.out);
  dg.Write(dgates, hidden);
  At(dc) = dstate * g.forget;
}

}  // namespace

void LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c, float* h) {
  if (hidden % 16 != 0) return reference::LstmCellForward(hidden, n, gates, c_in, c, h);
  for (int i = 0; i < n; ++i, gates += 4 * hidden) {
    for (int j = 0; j < hidden; j += 16) {
      const int at = i * hidden + j;
      Forward(hidden, gates + j, c_in + at, c + at, h + at);
    }
  }
}

void LstmCellBackward(int hidden, int n, const float* gates, const float* c_in, const float* c,
                      const float* dy, const float* dh, float* dc, float* dgates) {
  if (hidden % 16 != 0) {
    return reference::LstmCellBackward(hidden, n, gates, c_in, c, dy, dh, dc, dgates);
  }
  for (int i = 0; i < n; ++i, gates += 4 * hidden, dgates += 4 * hidden) {
    for (int j = 0; j < hidden; j += 16) {
      const int at = i * hidden + j;
      Backward(hidden, gates + j, c_in + at, c + at, dy + at, dh + at, dc + at, dgates + j);
    }
  }
}

void KeepState(int width, int n, const std::uint8_t* resets, const float* from, float* to) {
  for (int i = 0; i < n; ++i, from += width, to += width) {
    if (resets[i] != 0) {
      std::fill_n(to, width, 0.0f);
    } else if (from != to) {
      std::copy_n(from, width, to);
    }
  }
}

}  // namespace starling::net::cpu
