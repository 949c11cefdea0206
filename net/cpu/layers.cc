#include "net/cpu/layers.h"

#include <algorithm>
#include <cmath>

#include "net/backend.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// The sum of wide(j), in a partial sum for each lane, and of narrow(j) for the rest of [0, width).
template <class Wide, class Narrow>
float SumOf(int width, Wide wide, Narrow narrow) {
  Lanes sums = {};
  int j = 0;
  for (; j + kLanes <= width; j += kLanes) sums += wide(j);
  float sum = Sum(sums);
  for (; j < width; ++j) sum += narrow(j);
  return sum;
}

// The gates of the cells of one vector, of one sample. They lie `hidden` floats apart.
struct Gates {
  Lanes in, forget, cell, out;
  Gates(const float* at, int hidden)
      : in(At(at)), forget(At(at + hidden)), cell(At(at + 2 * hidden)), out(At(at + 3 * hidden)) {}
  void Write(float* at, int hidden) const {
    At(at) = in;
    At(at + hidden) = forget;
    At(at + 2 * hidden) = cell;
    At(at + 3 * hidden) = out;
  }
};

// The cells of a vector from offset `gate` in args.gates and `at` in the states.
void Forward(const LstmCellForwardArgs<float>& args, int gate, int at) {
  Gates g(args.gates + gate, args.hidden);
  g.in = Sigmoid(g.in);
  g.forget = Sigmoid(g.forget);
  g.cell = Tanh(g.cell);
  g.out = Sigmoid(g.out);
  g.Write(args.gates + gate, args.hidden);
  const Lanes state = g.forget * At(args.c_in + at) + g.in * g.cell;
  At(args.c + at) = state;
  At(args.h + at) = g.out * Tanh(state);
}

void Backward(const LstmCellBackwardArgs<float>& args, int gate, int at) {
  const Gates g(args.gates + gate, args.hidden);
  const Lanes tanh_c = Tanh(At(args.c + at)), d = At(args.dy + at) + At(args.dh + at);
  const Lanes dstate = At(args.dc + at) + d * g.out * (1 - tanh_c * tanh_c);
  Gates dg = g;
  dg.in = dstate * g.cell * g.in * (1 - g.in);
  dg.forget = dstate * At(args.c_in + at) * g.forget * (1 - g.forget);
  dg.cell = dstate * g.in * (1 - g.cell * g.cell);
  dg.out = d * tanh_c * g.out * (1 - g.out);
  dg.Write(args.dgates + gate, args.hidden);
  At(args.dc + at) = dstate * g.forget;
}

void Forward(const GruCellForwardArgs<float>& args, int gate, int at) {
  const int of_z = gate + args.hidden, of_m = of_z + args.hidden;
  const Lanes reset = Sigmoid(At(args.gates + gate) + At(args.from_h + gate));
  const Lanes update = Sigmoid(At(args.gates + of_z) + At(args.from_h + of_z));
  const Lanes memory = Tanh(At(args.gates + of_m) + reset * At(args.from_h + of_m));
  At(args.gates + gate) = reset;
  At(args.gates + of_z) = update;
  At(args.gates + of_m) = memory;
  At(args.h + at) = (1 - update) * memory + update * At(args.h_in + at);
}

void Backward(const GruCellBackwardArgs<float>& args, int gate, int at) {
  const int of_z = gate + args.hidden, of_m = of_z + args.hidden;
  const Lanes reset = At(args.gates + gate), update = At(args.gates + of_z);
  const Lanes memory = At(args.gates + of_m), d = At(args.dy + at) + At(args.dh + at);
  const Lanes dmemory = d * (1 - update) * (1 - memory * memory);
  const Lanes dreset = dmemory * At(args.from_h + of_m) * reset * (1 - reset);
  const Lanes dupdate = d * (At(args.h_in + at) - memory) * update * (1 - update);
  At(args.dx_sums + gate) = At(args.dh_sums + gate) = dreset;
  At(args.dx_sums + of_z) = At(args.dh_sums + of_z) = dupdate;
  At(args.dx_sums + of_m) = dmemory;
  At(args.dh_sums + of_m) = dmemory * reset;
  At(args.dh + at) = d * update;
}

// Calls cells(gate, at) for each vector of cells of each sample; a cell has so many gates.
template <class Cells>
void ForEachCells(int hidden, int n, int gates, Cells cells) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < hidden; j += kLanes) cells(gates * i * hidden + j, i * hidden + j);
  }
}

// For widths that are no multiple of the lanes: the plain loops, which have no state.
Backend<float>& Plain() {
  static const std::unique_ptr<Backend<float>> plain = MakeReferenceBackend<float>();
  return *plain;
}

}  // namespace

void Activate(Activation activation, int count, const float* x, float* y) {
  int j = 0;
  if (activation == Activation::kTanh) {
    for (; j + kLanes <= count; j += kLanes) At(y + j) = Tanh(At(x + j));
    for (; j < count; ++j) y[j] = std::tanh(x[j]);
    return;
  }
  const bool relu = activation == Activation::kRelu;
  for (; j < count; ++j) y[j] = relu && x[j] < 0.0f ? 0.0f : x[j];
}

void ActivateBackward(const ActivateBackwardArgs<float>& args) {
  const auto [activation, count, y, dy, relu_output, dx] = args;
  if (activation == Activation::kTanh) {
    for (int j = 0; j < count; ++j) dx[j] = dy[j] * (1 - y[j] * y[j]);
  } else {
    const bool relu = activation == Activation::kRelu;
    for (int j = 0; j < count; ++j) dx[j] = relu && !(y[j] > 0.0f) ? 0.0f : dy[j];
  }
  if (relu_output != nullptr) MaskByRelu(count, relu_output, dx);
}

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
  if (dscale != nullptr) {
    std::fill_n(dscale, width, 0.0f);
    SumRows(n, width, dy, dbias);
  }
  for (int i = 0; i < n; ++i, x += width, dy += width) {
    const float mean = moments[2 * i], rstd = moments[2 * i + 1];
    for (int j = 0; dscale != nullptr && j < width; ++j) {
      dscale[j] += (x[j] - mean) * rstd * dy[j];
    }
    if (dx == nullptr) continue;
    // dx as in net/reference.cc, with du = dy scale and u = (x - mean) rstd.
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

void LstmCellForward(const LstmCellForwardArgs<float>& args) {
  if (args.hidden % kLanes != 0) return Plain().LstmCellForward(args);
  ForEachCells(args.hidden, args.n, 4, [&](int gate, int at) { Forward(args, gate, at); });
}

void LstmCellBackward(const LstmCellBackwardArgs<float>& args) {
  if (args.hidden % kLanes != 0) return Plain().LstmCellBackward(args);
  ForEachCells(args.hidden, args.n, 4, [&](int gate, int at) { Backward(args, gate, at); });
}

void GruCellForward(const GruCellForwardArgs<float>& args) {
  if (args.hidden % kLanes != 0) return Plain().GruCellForward(args);
  ForEachCells(args.hidden, args.n, 3, [&](int gate, int at) { Forward(args, gate, at); });
}

void GruCellBackward(const GruCellBackwardArgs<float>& args) {
  if (args.hidden % kLanes != 0) return Plain().GruCellBackward(args);
  ForEachCells(args.hidden, args.n, 3, [&](int gate, int at) { Backward(args, gate, at); });
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
