#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/check.h"
#include "net/cpu/conv2d.h"
#include "net/cpu/conv2d_parts.h"
#include "net/cpu/layers.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

constexpr int kMostPictureChannels = 4;

// Floats of an input line that a cell sees, and between those of adjacent cells.
int Taps(const ConvShape& s) { return s.kernel_width * s.in_channels; }
int Step(const ConvShape& s) { return s.stride * s.in_channels; }

// A block is the longest run of floats that divides both; so cells begin and end between blocks.
// Its floats, and how many of them a line of the picture has.
int BlockOf(const ConvShape& s) { return std::gcd(Taps(s), Step(s)); }
int BlocksOf(const ConvShape& s) { return ((s.out_width() - 1) * Step(s) + Taps(s)) / BlockOf(s); }

}  // namespace

bool RepeatedConv::Fits(const ConvShape& s) {
  return s.in_channels <= kMostPictureChannels && s.stride > 1 && DividesChannels(s.out_channels) &&
         BlocksOf(s) <= 64;
}

bool RepeatedConv::Gather(const ConvShape& s, int n, const float* x) {
  const int cells = s.out_cells();
  kind_of_.resize(n * cells);
  kinds_.clear();
  kinds_.reserve(n * cells);
  first_.assign(1, 0);
  for (int i = 0; i < n; ++i) {
    FindIn(s, x + i * s.in_size(), &kind_of_[i * cells]);
    first_.push_back(kinds());
    if (4 * kinds() > 3 * (i + 1) * cells) return false;
  }
  return true;
}

// Finds the kinds of one sample, numbers them from 0 and appends them to kinds_.
void RepeatedConv::FindIn(const ConvShape& s, const float* x, int* kinds) {
  switch (BlockOf(s)) {
    case 4:
      Compare<4>(s, x);
      break;
    case 8:
      Compare<8>(s, x);
      break;
    case 12:
      Compare<12>(s, x);
      break;
    case 16:
      Compare<16>(s, x);
      break;
    default:
      Compare<0>(s, x);
      break;
  }
  // A cell repeats another if all of its lines of inputs do.
  const int width = s.out_width(), of_step = Step(s) / BlockOf(s);
  const int before = static_cast<int>(kinds_.size());
  for (int oy = 0; oy < s.out_height(); ++oy, kinds += width) {
    std::uint64_t above = ~std::uint64_t{0}, left = above;
    for (int y = oy * s.stride; y < oy * s.stride + s.kernel_height; ++y) {
      above &= lines_[y].above;
      left &= lines_[y].left;
    }
    for (int ox = 0; ox < width; ++ox) {
      if ((left >> (ox * of_step) & 1) != 0) {
        kinds[ox] = kinds[ox - 1];
      } else if ((above >> (ox * of_step) & 1) != 0) {
        kinds[ox] = kinds[ox - width];
      } else {
        kinds[ox] = static_cast<int>(kinds_.size()) - before;
        kinds_.push_back({oy * width + ox, (oy * s.width + ox) * s.stride * s.in_channels});
      }
    }
  }
}

// Compares all blocks, of kBlock floats if that is not 0, with those a stride above and a stride to
// the left. The bit of the first block of a cell's inputs in a line is then the `and` of them all.
template <int kBlock>
void RepeatedConv::Compare(const ConvShape& s, const float* x) {
  const int size = kBlock > 0 ? kBlock : BlockOf(s), line = s.width * s.in_channels;
  const int of_taps = Taps(s) / size, of_step = Step(s) / size, blocks = BlocksOf(s);
  const auto same = [size](const float* a, const float* b) -> std::uint64_t {
    return std::memcmp(a, b, size * sizeof(float)) == 0;
  };
  lines_.resize(s.height);
  for (int y = 0; y < s.height; ++y, x += line) {
    std::uint64_t above = 0, left = 0;
    for (int k = 0; y >= s.stride && k < blocks; ++k) {
      above |= same(x + k * size, x + k * size - s.stride * line) << k;
    }
    for (int k = of_step; k < blocks; ++k) {
      left |= same(x + k * size, x + (k - of_step) * size) << k;
    }
    for (int k = 1; k < of_taps; ++k) {
      above &= above >> 1;
      left &= left >> 1;
    }
    lines_[y] = {above, left};
  }
}

void RepeatedConv::Forward(const ConvForwardArgs<float>& args) const {
  const auto [s, n, x, w, b, activation, y] = args;
  CHECK(Fits(s), "{} channels", s.out_channels);
  const Lanes least = Least(activation);
  const int taps = Taps(s), line = s.width * s.in_channels;
  for (int i = 0; i < n; ++i) {
    const float* const sample = x + i * s.in_size();
    float* const out = y + i * s.out_size();
    const Kind* const kinds = &kinds_[first_[i]];
    ForEachChannels(s.out_channels, [&]<int kVectors>(int channel) {
      ForEachPart<kCellsAtOnce<kVectors>>(first_[i + 1] - first_[i], [&]<int kCells>(int kind) {
        // The sums of kCells kinds begin at the bias and stay in registers.
        Lanes sums[kCells][kVectors];
        const float* from[kCells];
        for (int c = 0; c < kCells; ++c) {
          from[c] = sample + kinds[kind + c].input;
          for (int v = 0; v < kVectors; ++v) sums[c][v] = At(b + channel + kLanes * v);
        }
        const float* weight = w + channel;
        for (int ky = 0; ky < s.kernel_height; ++ky) {
          for (int t = ky * line; t < ky * line + taps; ++t, weight += s.out_channels) {
            Lanes weights[kVectors];
            for (int v = 0; v < kVectors; ++v) weights[v] = At(weight + kLanes * v);
            for (int c = 0; c < kCells; ++c) {
              const float value = from[c][t];
              for (int v = 0; v < kVectors; ++v) sums[c][v] += value * weights[v];
            }
          }
        }
        for (int c = 0; c < kCells; ++c) {
          float* const to = out + kinds[kind + c].cell * s.out_channels + channel;
          for (int v = 0; v < kVectors; ++v) {
            At(to + kLanes * v) = sums[c][v] < least ? least : sums[c][v];
          }
        }
      });
    });
    for (int cell = 0; cell < s.out_cells(); ++cell) {
      const int first = kinds[kind_of_[i * s.out_cells() + cell]].cell;
      if (first == cell) continue;
      std::copy_n(out + first * s.out_channels, s.out_channels, out + cell * s.out_channels);
    }
  }
}

void RepeatedConv::BackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
  const auto [s, n, x, dy, dw, db] = args;
  CHECK(Fits(s), "{} channels", s.out_channels);
  const int taps = Taps(s), line = s.width * s.in_channels;
  for (int i = 0; i < n; ++i) {
    // 1. Add up the gradients of each kind.
    const float* const sample = x + i * s.in_size();
    const Kind* const kinds = &kinds_[first_[i]];
    const int count = first_[i + 1] - first_[i];
    sums_.assign(static_cast<std::size_t>(count) * s.out_channels, 0.0f);
    for (int cell = 0; cell < s.out_cells(); ++cell) {
      const float* const from = dy + i * s.out_size() + cell * s.out_channels;
      float* const to = &sums_[kind_of_[i * s.out_cells() + cell] * s.out_channels];
      for (int c = 0; c < s.out_channels; c += kLanes) At(to + c) += At(from + c);
    }
    // 2. Those of a few weights of a kernel line stay in registers during the loop over the kinds.
    ForEachChannels(s.out_channels, [&]<int kVectors>(int channel) {
      for (int ky = 0; ky < s.kernel_height; ++ky) {
        ForEachPart<kTapsAtOnce<kVectors>>(taps, [&]<int kTaps>(int tap) {
          float* const to = dw + (ky * taps + tap) * s.out_channels + channel;
          Lanes sums[kTaps][kVectors] = {};
          for (int t = 0; i > 0 && t < kTaps; ++t) {
            for (int v = 0; v < kVectors; ++v)
              sums[t][v] = At(to + t * s.out_channels + kLanes * v);
          }
          const float* d = sums_.data() + channel;
          for (int k = 0; k < count; ++k, d += s.out_channels) {
            const float* const from = sample + kinds[k].input + ky * line + tap;
            Lanes gradient[kVectors];
            for (int v = 0; v < kVectors; ++v) gradient[v] = At(d + kLanes * v);
            for (int t = 0; t < kTaps; ++t) {
              for (int v = 0; v < kVectors; ++v) sums[t][v] += from[t] * gradient[v];
            }
          }
          for (int t = 0; t < kTaps; ++t) {
            for (int v = 0; v < kVectors; ++v)
              At(to + t * s.out_channels + kLanes * v) = sums[t][v];
          }
        });
      }
    });
  }
  SumRows(n * s.out_cells(), s.out_channels, dy, db);
}

}  // namespace starling::net::cpu
