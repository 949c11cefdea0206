// The reference backend: each op as plain loops, in float and double. It defines correct results;
// shapes and formulas in net/op_args.h.
#include <algorithm>
#include <cmath>

#include "net/backend.h"
#include "net/masked.h"

namespace starling::net {
namespace {

template <class T>
T Sigmoid(T value) {
  return 1 / (1 + std::exp(-value));
}

template <class T>
T Activated(Activation activation, T value) {
  if (activation == Activation::kTanh) return std::tanh(value);
  return activation == Activation::kRelu && value < T(0) ? T(0) : value;
}

// The derivative of an activation, as a function of the activated value y.
template <class T>
T Slope(Activation activation, T y) {
  if (activation == Activation::kTanh) return 1 - y * y;
  return activation == Activation::kRelu && !(y > T(0)) ? T(0) : T(1);
}

// Calls visit(x_index, w_index, y_index) for every product in y[y_index] += x[x_index] * w[w_index]
// of one sample of a convolution. All three passes are this walk; each writes to another of the
// three arrays.
template <class Visit>
void ForEachProduct(const ConvShape& s, Visit visit) {
  for (int oy = 0; oy < s.out_height(); ++oy) {
    for (int ox = 0; ox < s.out_width(); ++ox) {
      for (int ky = 0; ky < s.kernel_height; ++ky) {
        for (int kx = 0; kx < s.kernel_width; ++kx) {
          const int iy = oy * s.stride + ky, ix = ox * s.stride + kx;
          for (int c = 0; c < s.in_channels; ++c) {
            for (int o = 0; o < s.out_channels; ++o) {
              visit((iy * s.width + ix) * s.in_channels + c,
                    ((ky * s.kernel_width + kx) * s.in_channels + c) * s.out_channels + o,
                    (oy * s.out_width() + ox) * s.out_channels + o);
            }
          }
        }
      }
    }
  }
}

template <class T>
class ReferenceBackend final : public Backend<T> {
 public:
  const char* name() const override { return "reference"; }

  void LinearForward(const LinearForwardArgs<T>& args) override {
    const auto [s, n, x, w, b, activation, y] = args;
    for (int i = 0; i < n; ++i) {
      for (int o = 0; o < s.out; ++o) {
        T sum = b[o];
        for (int k = 0; k < s.in; ++k) sum += x[i * s.in + k] * w[k * s.out + o];
        y[i * s.out + o] = Activated(activation, sum);
      }
    }
  }

  void LinearAccumulate(const LinearShape& s, int n, const T* x, const T* w, T* y) override {
    for (int i = 0; i < n; ++i) {
      for (int o = 0; o < s.out; ++o) {
        for (int k = 0; k < s.in; ++k) y[i * s.out + o] += x[i * s.in + k] * w[k * s.out + o];
      }
    }
  }

  void LinearBackwardWeights(const LinearBackwardWeightsArgs<T>& args) override {
    const auto [s, n, x, dy, dw, db] = args;
    for (int o = 0; o < s.out; ++o) {
      for (int k = 0; k < s.in; ++k) {
        T sum = 0;
        for (int i = 0; i < n; ++i) sum += x[i * s.in + k] * dy[i * s.out + o];
        dw[k * s.out + o] = sum;
      }
      T sum = 0;
      for (int i = 0; i < n; ++i) sum += dy[i * s.out + o];
      db[o] = sum;
    }
  }

  void LinearBackwardInput(const LinearBackwardInputArgs<T>& args) override {
    const auto [s, n, w, dy, put, relu_output, dx] = args;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < s.in; ++k) {
        T sum = put == Put::kAdd ? dx[i * s.in + k] : T(0);
        for (int o = 0; o < s.out; ++o) sum += dy[i * s.out + o] * w[k * s.out + o];
        dx[i * s.in + k] = Masked(relu_output, i * s.in + k, sum);
      }
    }
  }

  void ConvForward(const ConvForwardArgs<T>& args) override {
    auto [s, n, x, w, b, activation, y] = args;
    for (int i = 0; i < n; ++i, x += s.in_size(), y += s.out_size()) {
      for (int j = 0; j < s.out_size(); ++j) y[j] = b[j % s.out_channels];
      ForEachProduct(s, [&](int xi, int wi, int yi) { y[yi] += x[xi] * w[wi]; });
      for (int j = 0; j < s.out_size(); ++j) y[j] = Activated(activation, y[j]);
    }
  }

  void ConvBackwardWeights(const ConvBackwardWeightsArgs<T>& args) override {
    auto [s, n, x, dy, dw, db] = args;
    std::fill_n(dw, s.num_weights(), T(0));
    std::fill_n(db, s.out_channels, T(0));
    for (int i = 0; i < n; ++i, x += s.in_size(), dy += s.out_size()) {
      for (int j = 0; j < s.out_size(); ++j) db[j % s.out_channels] += dy[j];
      ForEachProduct(s, [&](int xi, int wi, int yi) { dw[wi] += x[xi] * dy[yi]; });
    }
  }

  void ConvBackwardInput(const ConvBackwardInputArgs<T>& args) override {
    auto [s, n, w, dy, relu_output, dx] = args;
    std::fill_n(dx, n * s.in_size(), T(0));
    for (int i = 0; i < n; ++i, dy += s.out_size()) {
      T* const row = dx + i * s.in_size();
      ForEachProduct(s, [&](int xi, int wi, int yi) { row[xi] += dy[yi] * w[wi]; });
    }
    for (int j = 0; j < n * s.in_size(); ++j) dx[j] = Masked(relu_output, j, dx[j]);
  }

  void Activate(Activation activation, int count, const T* x, T* y) override {
    for (int j = 0; j < count; ++j) y[j] = Activated(activation, x[j]);
  }

  void ActivateBackward(const ActivateBackwardArgs<T>& args) override {
    const auto [activation, count, y, dy, relu_output, dx] = args;
    for (int j = 0; j < count; ++j) {
      dx[j] = Masked(relu_output, j, dy[j] * Slope(activation, y[j]));
    }
  }

  void LayerNormForward(const LayerNormForwardArgs<T>& args) override {
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
        y[j] = Activated(activation, (x[j] - mean) * rstd * scale[j] + bias[j]);
      }
    }
  }

  // With u = (x - mean) rstd and du = dy scale: dx = rstd (du - mean(du) - u mean(u du)).
  void LayerNormBackward(const LayerNormBackwardArgs<T>& args) override {
    const auto [width, n, x, scale, moments, dy, relu_output, dscale, dbias, dx] = args;
    const T count = static_cast<T>(width);
    if (dscale != nullptr) {
      std::fill_n(dscale, width, T(0));
      std::fill_n(dbias, width, T(0));
    }
    for (int i = 0; i < n; ++i) {
      const int row = i * width;
      const T mean = moments[2 * i], rstd = moments[2 * i + 1];
      // 1. The gradients of the parameters, and the two means.
      T mean_du = 0, mean_udu = 0;
      for (int j = 0; j < width; ++j) {
        const T u = (x[row + j] - mean) * rstd, du = dy[row + j] * scale[j];
        mean_du += du / count;
        mean_udu += u * du / count;
        if (dscale == nullptr) continue;
        dscale[j] += u * dy[row + j];
        dbias[j] += dy[row + j];
      }
      if (dx == nullptr) continue;
      // 2. The gradient of the input.
      for (int j = 0; j < width; ++j) {
        const T u = (x[row + j] - mean) * rstd, du = dy[row + j] * scale[j];
        dx[row + j] = Masked(relu_output, row + j, rstd * (du - mean_du - u * mean_udu));
      }
    }
  }

  void LstmCellForward(const LstmCellForwardArgs<T>& args) override {
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
  void LstmCellBackward(const LstmCellBackwardArgs<T>& args) override {
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

  void GruCellForward(const GruCellForwardArgs<T>& args) override {
    auto [hidden, n, gates, from_h, h_in, h] = args;
    for (int i = 0; i < n; ++i, gates += 3 * hidden, from_h += 3 * hidden) {
      for (int j = 0; j < hidden; ++j, ++h_in, ++h) {
        T &reset = gates[j], &update = gates[hidden + j], &memory = gates[2 * hidden + j];
        reset = Sigmoid(reset + from_h[j]);
        update = Sigmoid(update + from_h[hidden + j]);
        memory = std::tanh(memory + reset * from_h[2 * hidden + j]);
        *h = (1 - update) * memory + update * *h_in;
      }
    }
  }

  void GruCellBackward(const GruCellBackwardArgs<T>& args) override {
    const auto [hidden, n, gates, from_h, h_in, dy, dh, dx_sums, dh_sums] = args;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < hidden; ++j) {
        const int at = i * hidden + j, of_r = 3 * i * hidden + j;
        const int of_z = of_r + hidden, of_m = of_z + hidden;
        const T reset = gates[of_r], update = gates[of_z], memory = gates[of_m];
        const T d = dy[at] + dh[at], dmemory = d * (1 - update) * (1 - memory * memory);
        dx_sums[of_r] = dh_sums[of_r] = dmemory * from_h[of_m] * reset * (1 - reset);
        dx_sums[of_z] = dh_sums[of_z] = d * (h_in[at] - memory) * update * (1 - update);
        dx_sums[of_m] = dmemory;
        dh_sums[of_m] = dmemory * reset;
        dh[at] = d * update;
      }
    }
  }

  void KeepState(int width, int n, const std::uint8_t* resets, const T* from, T* to) override {
    for (int j = 0; j < n * width; ++j) to[j] = resets[j / width] != 0 ? T(0) : from[j];
  }
};

}  // namespace

template <class T>
std::unique_ptr<Backend<T>> MakeReferenceBackend() {
  return std::make_unique<ReferenceBackend<T>>();
}

template std::unique_ptr<Backend<float>> MakeReferenceBackend<float>();
template std::unique_ptr<Backend<double>> MakeReferenceBackend<double>();

}  // namespace starling::net
