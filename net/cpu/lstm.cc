#include <algorithm>

#include "net/cpu/functions.h"
#include "net/cpu/layers.h"
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

// Sixteen cells from offset `gate` in args.gates and `at` in the states.
void Forward(const LstmCellForwardArgs<float>& args, int gate, int at) {
  Gates g(args.gates + gate, args.hidden);
  g.in = Sigmoid(g.in);
  g.forget = Sigmoid(g.forget);
  g.cell = Tanh(g.cell);
  g.out = Sigmoid(g.out);
  g.Write(args.gates + gate, args.hidden);
  const Sixteen state = g.forget * At(args.c_in + at) + g.in * g.cell;
  At(args.c + at) = state;
  At(args.h + at) = g.out * Tanh(state);
}

void Backward(const LstmCellBackwardArgs<float>& args, int gate, int at) {
  const Gates g(args.gates + gate, args.hidden);
  const Sixteen tanh_c = Tanh(At(args.c + at)), d = At(args.dy + at) + At(args.dh + at);
  const Sixteen dstate = At(args.dc + at) + d * g.out * (1 - tanh_c * tanh_c);
  Gates dg = g;
  dg.in = dstate * g.cell * g.in * (1 - g.in);
  dg.forget = dstate * At(args.c_in + at) * g.forget * (1 - g.forget);
  dg.cell = dstate * g.in * (1 - g.cell * g.cell);
  dg.out = d * tanh_c * g.out * (1 - g.out);
  dg.Write(args.dgates + gate, args.hidden);
  At(args.dc + at) = dstate * g.forget;
}

// Calls sixteen_cells(gate, at) for each sixteen cells of each sample.
template <class Cells>
void ForEachSixteen(int hidden, int n, Cells sixteen_cells) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < hidden; j += 16) sixteen_cells(4 * i * hidden + j, i * hidden + j);
  }
}

}  // namespace

void LstmCellForward(const LstmCellForwardArgs<float>& args) {
  if (args.hidden % 16 != 0) return reference::LstmCellForward(args);
  ForEachSixteen(args.hidden, args.n, [&](int gate, int at) { Forward(args, gate, at); });
}

void LstmCellBackward(const LstmCellBackwardArgs<float>& args) {
  if (args.hidden % 16 != 0) return reference::LstmCellBackward(args);
  ForEachSixteen(args.hidden, args.n, [&](int gate, int at) { Backward(args, gate, at); });
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
