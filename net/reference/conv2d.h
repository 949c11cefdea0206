// The definition of convolution without padding; shapes in net/op_args.h.
#pragma once

#include <algorithm>

#include "net/reference/activation.h"

namespace starling::net::reference {

// Calls visit(x_index, w_index, y_index) for every product in y[y_index] += x[x_index] * w[w_index]
// of one sample. All three passes are this walk; each writes to another of the three arrays.
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
void ConvForward(const ConvForwardArgs<T>& args) {
  auto [s, n, x, w, b, activation, y] = args;
  for (int i = 0; i < n; ++i, x += s.in_size(), y += s.out_size()) {
    for (int j = 0; j < s.out_size(); ++j) y[j] = b[j % s.out_channels];
    ForEachProduct(s, [&](int xi, int wi, int yi) { y[yi] += x[xi] * w[wi]; });
    for (int j = 0; j < s.out_size(); ++j) y[j] = Activate(activation, y[j]);
  }
}

template <class T>
void ConvBackwardWeights(const ConvBackwardWeightsArgs<T>& args) {
  auto [s, n, x, dy, dw, db] = args;
  std::fill_n(dw, s.num_weights(), T(0));
  std::fill_n(db, s.out_channels, T(0));
  for (int i = 0; i < n; ++i, x += s.in_size(), dy += s.out_size()) {
    for (int j = 0; j < s.out_size(); ++j) db[j % s.out_channels] += dy[j];
    ForEachProduct(s, [&](int xi, int wi, int yi) { dw[wi] += x[xi] * dy[yi]; });
  }
}

template <class T>
void ConvBackwardInput(const ConvBackwardInputArgs<T>& args) {
  auto [s, n, w, dy, relu_output, dx] = args;
  std::fill_n(dx, n * s.in_size(), T(0));
  for (int i = 0; i < n; ++i) {
    T* const row = dx + i * s.in_size();
    ForEachProduct(s, [&](int xi, int wi, int yi) { row[xi] += dy[yi] * w[wi]; });
    dy += s.out_size();
  }
  for (int j = 0; j < n * s.in_size(); ++j) dx[j] = Masked(relu_output, j, dx[j]);
}

}  // namespace starling::net::reference
