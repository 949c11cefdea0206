// Ops around convolutions, one thread for each number that is written. Same formulas as
// net/pictures.cc.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/pictures.h"

namespace starling::net::cuda {

// Where a number lies in pictures (n, height, width, channels).
struct Place {
  int sample, line, column, channel;
};

class Places {
 public:
  Places(int height, int width, int channels)
      : height_(height), width_(width), channels_(channels) {}

  HOST_DEVICE Place At(long long i) const {
    int rest = static_cast<int>(i);
    const int channel = channels_.Split(rest), column = width_.Split(rest);
    const int line = height_.Split(rest);
    return {rest, line, column, channel};
  }

 private:
  Divisor height_, width_, channels_;
};

struct Pad {
  PadArgs<float> a;
  Places padded;

  HOST_DEVICE void operator()(long long i) const {
    const PadShape& s = a.shape;
    const Place to = padded.At(i);
    const int line = to.line - s.top, column = to.column - s.left;
    const bool inside = column >= 0 && column < s.width && line >= 0 && line < s.height;
    const long long from =
        ((1ll * to.sample * s.height + line) * s.width + column) * s.channels + to.channel;
    a.y[i] = inside ? Activated(a.activation, a.x[from]) : 0.0f;
  }
};

struct Crop {
  CropArgs<float> a;
  Places picture;

  HOST_DEVICE void operator()(long long i) const {
    const PadShape& s = a.shape;
    const Place to = picture.At(i);
    const long long line = 1ll * to.sample * s.padded_height() + to.line + s.top;
    const long long from = (line * s.padded_width() + to.column + s.left) * s.channels + to.channel;
    a.dx[i] = Masked(a.relu_output, i, a.dy[from]);
  }
};

struct MaxPoolForward {
  MaxPoolForwardArgs<float> a;
  Places output;

  HOST_DEVICE void operator()(long long i) const {
    const PoolShape& s = a.shape;
    const Place to = output.At(i);
    const int top = to.line * s.stride - s.top, left = to.column * s.stride - s.left;
    const float* const x = a.x + 1ll * to.sample * s.size();
    int best = -1;
    for (int line = top < 0 ? 0 : top; line < top + s.kernel_height && line < s.height; ++line) {
      for (int column = left < 0 ? 0 : left; column < left + s.kernel_width && column < s.width;
           ++column) {
        const int cell = (line * s.width + column) * s.channels + to.channel;
        if (best < 0 || IsLarger(x[cell], x[best])) best = cell;
      }
    }
    a.y[i] = x[best];
    a.taken[i] = best;
  }
};

struct MaxPoolBackward {
  MaxPoolBackwardArgs<float> a;
  Places input;

  HOST_DEVICE void operator()(long long i) const {
    const PoolShape& s = a.shape;
    const Place to = input.At(i);
    const int line = to.line + s.top, column = to.column + s.left;
    const long long out = 1ll * to.sample * s.out_size();
    const int own = static_cast<int>(i - 1ll * to.sample * s.size());
    // The windows that hold the cell end at the one that begins at it or before.
    float sum = 0;
    for (int y = First(line, s.kernel_height); y <= line / s.stride && y < s.out_height; ++y) {
      for (int x = First(column, s.kernel_width); x <= column / s.stride && x < s.out_width; ++x) {
        const long long at = out + (1ll * y * s.out_width + x) * s.channels + to.channel;
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
