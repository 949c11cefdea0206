// Ops around convolutions, one thread for each number that is written. Same formulas as
// net/pictures.cc.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/pictures.h"

namespace starling::net::cuda {

struct Pad {
  PadArgs<float> a;
  Divisor channels, width, height;  // of the padded picture

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const PadShape& s = a.shape;
    const int c = channels.Split(sample), column = width.Split(sample) - s.left;
    const int line = height.Split(sample) - s.top;
    const bool inside = column >= 0 && column < s.width && line >= 0 && line < s.height;
    const long long from = ((1ll * sample * s.height + line) * s.width + column) * s.channels + c;
    a.y[i] = inside ? Activated(a.activation, a.x[from]) : 0.0f;
  }
};

struct Crop {
  CropArgs<float> a;
  Divisor channels, width, height;  // of the picture

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const PadShape& s = a.shape;
    const int c = channels.Split(sample), column = width.Split(sample) + s.left;
    const int line = height.Split(sample) + s.top;
    const long long from =
        ((1ll * sample * s.padded_height() + line) * s.padded_width() + column) * s.channels + c;
    a.dx[i] = Masked(a.relu_output, i, a.dy[from]);
  }
};

struct MaxPoolForward {
  MaxPoolForwardArgs<float> a;
  Divisor channels, width, height;  // of the output

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const PoolShape& s = a.shape;
    const int c = channels.Split(sample), left = width.Split(sample) * s.stride - s.left;
    const int top = height.Split(sample) * s.stride - s.top;
    const float* const x = a.x + 1ll * sample * s.size();
    int best = -1;
    for (int line = top < 0 ? 0 : top; line < top + s.kernel_height && line < s.height; ++line) {
      for (int column = left < 0 ? 0 : left; column < left + s.kernel_width && column < s.width;
           ++column) {
        const int cell = (line * s.width + column) * s.channels + c;
        if (best < 0 || IsLarger(x[cell], x[best])) best = cell;
      }
    }
    a.y[i] = x[best];
    a.taken[i] = best;
  }
};

struct MaxPoolBackward {
  MaxPoolBackwardArgs<float> a;
  Divisor channels, width, height;  // of the input

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const PoolShape& s = a.shape;
    const int c = channels.Split(sample), column = width.Split(sample) + s.left;
    const int line = height.Split(sample) + s.top;
    const long long out = 1ll * sample * s.out_size();
    const int own = static_cast<int>(i - 1ll * sample * s.size());
    // The windows that hold the cell end at the one that begins at it or before.
    float sum = 0;
    for (int y = First(line, s.kernel_height); y <= line / s.stride && y < s.out_height; ++y) {
      for (int x = First(column, s.kernel_width); x <= column / s.stride && x < s.out_width; ++x) {
        const long long at = out + (1ll * y * s.out_width + x) * s.channels + c;
        if (a.taken[at] == own) sum += a.dy[at];
      }
    }
    a.dx[i] = Masked(a.relu_output, i, sum);
  }

 private:
  // The first window whose last cell is at `at` or behind it.
  HOST_DEVICE int First(int at, int kernel) const {
    const int over = at - kernel + 1;
    return over <= 0 ? 0 : (over + a.shape.stride - 1) / a.shape.stride;
  }
};

struct Add {
  AddArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    a.y[i] = Masked(a.relu_output, i, a.a[i] + a.b[i]);
  }
};

}  // namespace starling::net::cuda
