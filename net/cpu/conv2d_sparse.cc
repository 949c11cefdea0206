#include "net/cpu/conv2d.h"

#include <algorithm>

#include "core/check.h"
#include "net/cpu/layers.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// to (count) += scale * from (count)
inline void AddScaled(int count, float scale, const float* from, float* to) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) At(to + i) += scale * At(from + i);
  for (; i < count; ++i) to[i] += scale * from[i];
}

// to (count) = activation(from)
inline void Activate(int count, const float* from, Activation activation, float* to) {
  const Lanes least = Least(activation);
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) At(to + i) = At(from + i) < least ? least : At(from + i);
  for (; i < count; ++i) to[i] = from[i] < least[0] ? least[0] : from[i];
}

// to (count) = from
inline void Copy(int count, const float* from, float* to) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) At(to + i) = At(from + i);
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

bool SparseConv::Fits(const ConvShape& s) {
  return s.kernel_height == s.kernel_width && s.kernel_width % s.stride == 0;
}

SparseConv::SparseConv(const ConvShape& shape)
    : shape_(shape),
      taps_(shape.kernel_width / shape.stride),
      frame_width_((shape.width - 1) / shape.stride + taps_) {
  CHECK(Fits(shape));
  const ConvShape& s = shape_;
  const int frame_cells = frame_width_ * ((s.height - 1) / s.stride + taps_);
  frame_ = Buffer<float>(frame_cells * s.out_channels);
  for (int iy = 0; iy < s.height; ++iy) {
    for (int ix = 0; ix < s.width; ++ix) {
      const int cell = iy / s.stride * frame_width_ + ix / s.stride;
      const int kernel_cell = iy % s.stride * s.kernel_width + ix % s.stride;
      for (int c = 0; c < s.in_channels; ++c) {
        inputs_.push_back({.frame = cell * s.out_channels,
                           .w = (kernel_cell * s.in_channels + c) * s.out_channels});
      }
    }
  }
}

bool SparseConv::Gather(int n, const float* x) {
  return set_.Find(Which::kNonzero, n, shape_.in_size(), x, n * shape_.in_size() / 4);
}

// Calls visit(value, w_offset, frame_offset) for each product of a nonzero of x, the input of
// sample `row`, with a row of weights. An input at iy meets the kernel cells ky = iy % stride + ty
// * stride at the outputs iy / stride - ty, which are lines iy / stride + (taps - 1 - ty) of the
// frame; ix likewise.
template <int kTaps, int kChannels, class Visit>
inline void SparseConv::ForEachProduct(int row, const float* x, Visit visit) const {
  const int taps = kTaps > 0 ? kTaps : taps_;
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  const int right = shape_.stride * shape_.in_channels * channels;
  const int down = right * shape_.kernel_width, line = frame_width_ * channels;
  for (const int k : set_.row(row)) {
    const float value = x[k];
    const Input input = inputs_[k];
    for (int ty = 0; ty < taps; ++ty) {
      for (int tx = 0; tx < taps; ++tx) {
        visit(value, input.w + ty * down + tx * right,
              input.frame + (taps - 1 - ty) * line + (taps - 1 - tx) * channels);
      }
    }
  }
}

// Calls visit(y_offset, frame_offset) for each output cell of a sample.
template <class Visit>
inline void SparseConv::ForEachOutput(int channels, Visit visit) const {
  // Copies: the compiler must assume that visit writes to shape_.
  const int height = shape_.out_height(), width = shape_.out_width(), line = frame_width_;
  int y = 0, cell = (taps_ - 1) * (line + 1);
  for (int oy = 0; oy < height; ++oy, cell += line - width) {
    for (int ox = 0; ox < width; ++ox, ++cell, y += channels) visit(y, cell * channels);
  }
}

template <int kTaps, int kChannels>
void SparseConv::ForwardFor(const ConvForwardArgs<float>& args) {
  const float *x = args.x, *const w = args.w, *const b = args.b;
  const Activation activation = args.activation;
  float* y = args.y;
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  float* const frame = frame_.data();
  std::fill_n(frame, frame_.size(), 0.0f);  // the sums of the border are never read
  for (int row = 0; row < set_.rows(); ++row) {
    ForEachOutput(channels, [=](int, int to) { Copy(channels, b, frame + to); });
    ForEachProduct<kTaps, kChannels>(row, x, [=](float value, int from, int to) {
      AddScaled(channels, value, w + from, frame + to);
    });
    ForEachOutput(channels,
                  [=](int to, int from) { Activate(channels, frame + from, activation, y + to); });
    x += shape_.in_size();
    y += shape_.out_size();
  }
}

template <int kTaps, int kChannels>
void SparseConv::BackwardWeightsFor(const ConvBackwardWeightsArgs<float>& args) {
  const float *x = args.x, *dy = args.dy;
  float* const dw = args.dw;
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  float* const frame = frame_.data();
  std::fill_n(frame, frame_.size(), 0.0f);  // the border stays zero below
  std::fill_n(dw, shape_.num_weights(), 0.0f);
  SumRows(set_.rows() * shape_.out_cells(), channels, dy, args.db);
  for (int row = 0; row < set_.rows(); ++row) {
    ForEachOutput(channels, [=](int from, int to) { Copy(channels, dy + from, frame + to); });
    ForEachProduct<kTaps, kChannels>(row, x, [=](float value, int to, int from) {
      AddScaled(channels, value, frame + from, dw + to);
    });
    x += shape_.in_size();
    dy += shape_.out_size();
  }
}

void SparseConv::Forward(const ConvForwardArgs<float>& args) {
  const int channels = shape_.out_channels;
  if (taps_ == 3 && channels == 16) return ForwardFor<3, 16>(args);
  if (taps_ == 2 && channels == 16) return ForwardFor<2, 16>(args);
  if (taps_ == 2 && channels == 32) return ForwardFor<2, 32>(args);
  ForwardFor<0, 0>(args);
}

void SparseConv::BackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
  const int channels = shape_.out_channels;
  if (taps_ == 3 && channels == 16) return BackwardWeightsFor<3, 16>(args);
  if (taps_ == 2 && channels == 16) return BackwardWeightsFor<2, 16>(args);
  if (taps_ == 2 && channels == 32) return BackwardWeightsFor<2, 32>(args);
  BackwardWeightsFor<0, 0>(args);
}

}  // namespace starling::net::cpu
