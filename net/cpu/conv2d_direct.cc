#include "net/cpu/conv2d.h"
#include "net/cpu/conv2d_parts.h"
#include "net/cpu/layers.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// sums (cells, vectors) += the sum over t < taps of x[cell * step + t] * w[t * row ...]: the inputs
// of adjacent cells lie `step` floats apart, the weights of adjacent taps `row` floats apart.
template <int kCells, int kVectors>
inline void AddTaps(int taps, const float* x, int step, const float* w, int row,
                    Lanes (&sums)[kCells][kVectors]) {
  for (int t = 0; t < taps; ++t) {
    Lanes weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = At(w + t * row + kLanes * v);
    for (int c = 0; c < kCells; ++c) {
      const float value = x[c * step + t];
      for (int v = 0; v < kVectors; ++v) sums[c][v] += value * weights[v];
    }
  }
}

}  // namespace

bool DirectConvForward(const ConvForwardArgs<float>& args) {
  const auto [s, n, x, w, b, activation, y] = args;
  const Lanes least = Least(activation);
  const int taps = s.kernel_width * s.in_channels, step = s.stride * s.in_channels;
  return ForEachChannels(s.out_channels, [&]<int kVectors>(int channel) {
    for (int line = 0; line < n * s.out_height(); ++line) {
      const int i = line / s.out_height(), oy = line % s.out_height();
      const float* const from = x + i * s.in_size() + oy * s.stride * s.width * s.in_channels;
      float* const to = y + line * s.out_width() * s.out_channels + channel;
      ForEachPart<kCellsAtOnce<kVectors>>(s.out_width(), [&]<int kCells>(int ox) {
        // The sums of kCells cells begin at the bias, stay in registers, and are written once.
        Lanes sums[kCells][kVectors];
        for (int c = 0; c < kCells; ++c) {
          for (int v = 0; v < kVectors; ++v) sums[c][v] = At(b + channel + kLanes * v);
        }
        for (int ky = 0; ky < s.kernel_height; ++ky) {
          AddTaps(taps, from + ky * s.width * s.in_channels + ox * step, step,
                  w + ky * taps * s.out_channels + channel, s.out_channels, sums);
        }
        for (int c = 0; c < kCells; ++c) {
          for (int v = 0; v < kVectors; ++v) {
            At(to + (ox + c) * s.out_channels + kLanes * v) =
                sums[c][v] < least ? least : sums[c][v];
          }
        }
      });
    }
  });
}

// The gradients of a few weights of one kernel line stay in registers during the loop over the
// output cells of a sample.
bool DirectConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
  const auto [s, n, x, dy, dw, db] = args;
  const int taps = s.kernel_width * s.in_channels, step = s.stride * s.in_channels;
  const bool fits = ForEachChannels(s.out_channels, [&]<int kVectors>(int channel) {
    for (int i = 0; i < n; ++i) {
      for (int ky = 0; ky < s.kernel_height; ++ky) {
        ForEachPart<kTapsAtOnce<kVectors>>(taps, [&]<int kTaps>(int tap) {
          // 1. Continue from the sums over the samples before.
          float* const to = dw + (ky * taps + tap) * s.out_channels + channel;
          Lanes sums[kTaps][kVectors] = {};
          if (i > 0) {
            for (int t = 0; t < kTaps; ++t) {
              for (int v = 0; v < kVectors; ++v)
                sums[t][v] = At(to + t * s.out_channels + kLanes * v);
            }
          }
          // 2. Add this sample.
          const float* d = dy + i * s.out_size() + channel;
          for (int oy = 0; oy < s.out_height(); ++oy) {
            const float* from =
                x + i * s.in_size() + (oy * s.stride + ky) * s.width * s.in_channels + tap;
            for (int ox = 0; ox < s.out_width(); ++ox, from += step, d += s.out_channels) {
              Lanes gradient[kVectors];
              for (int v = 0; v < kVectors; ++v) gradient[v] = At(d + kLanes * v);
              for (int t = 0; t < kTaps; ++t) {
                for (int v = 0; v < kVectors; ++v) sums[t][v] += from[t] * gradient[v];
              }
            }
          }
          for (int t = 0; t < kTaps; ++t) {
            for (int v = 0; v < kVectors; ++v)
              At(to + t * s.out_channels + kLanes * v) = sums[t][v];
          }
        });
      }
    }
  });
  if (fits) SumRows(n * s.out_cells(), s.out_channels, dy, db);
  return fits;
}

}  // namespace starling::net::cpu
