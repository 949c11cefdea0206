#include "net/cpu/conv2d_sparse.h"

#include <algorithm>

#include "core/check.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// to (count) += scale * from (count)
inline void AddScaled(int count, float scale, const float* from, float* to) {
  int i = 0;
  for (; i + 16 <= count; i += 16) At(to + i) += scale * At(from + i);
  for (; i < count; ++i) to[i] += scale * from[i];
}

// to (count) = activation(from)
inline void Activate(int count, const float* from, Activation activation, float* to) {
  const float floor = activation == Activation::kRelu ? 0.0f : -__builtin_inff();
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    const Sixteen least = floor - Sixteen{};
    At(to + i) = At(from + i) < least ? least : At(from + i);
  }
  for (; i < count; ++i) to[i] = from[i] < floor ? floor : from[i];
}

// to (count) = from
inline void Copy(int count, const float* from, float* to) {
  int i = 0;
  for (; i + 16 <= count; i += 16) At(to + i) = At(from + i);
  for (; i < count; ++i) to[i] = from[i];
}

// to (count) = from, sums (count) += from
inline void CopyAndSum(int count, const float* from, float* to, float* sums) {
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    At(sums + i) += At(from + i);
    At(to + i) = At(from + i);
  }
  for (; i < count; ++i) {
    sums[i] += from[i];
    to[i] = from[i];
  }
}

}  // namespace

SparseConv::SparseConv(const ConvShape& shape)
    : shape_(shape), frame_width_(shape.width + shape.kernel_width - 1) {
  const ConvShape& s = shape_;
  CHECK(s.stride == 1);
  const int frame_cells = frame_width_ * (s.height + s.kernel_height - 1);
  frame_ = Buffer<float>(static_cast<std::size_t>(frame_cells * s.out_channels));
  for (int iy = 0; iy < s.height; ++iy) {
    for (int ix = 0; ix < s.width; ++ix) {
      for (int c = 0; c < s.in_channels; ++c) {
        inputs_.push_back({(iy * frame_width_ + ix) * s.out_channels, c * s.out_channels});
      }
    }
  }
}

bool SparseConv::Gather(int n, const float* x) {
  return set_.Find(Which::kNonzero, n, shape_.in_size(), x, n * shape_.in_size() / 4);
}

// Calls visit(value, w_offset, frame_offset) for each product of the sample x with a row of
// weights. The input at (iy, ix) is seen by output (iy - ky, ix - kx) at kernel cell (ky, kx),
// which is cell (iy + KH - 1 - ky, ix + KW - 1 - kx) of the frame.
template <int kKernel, int kChannels, class Visit>
inline void SparseConv::ForEachProduct(int row, const float* x, Visit visit) const {
  const int kernel_height = kKernel > 0 ? kKernel : shape_.kernel_height;
  const int kernel_width = kKernel > 0 ? kKernel : shape_.kernel_width;
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  const int cell_w = shape_.in_channels * channels, line = frame_width_ * channels;
  for (const int k : set_.row(row)) {
    const float value = x[k];
    const Input input = inputs_[static_cast<std::size_t>(k)];
    for (int ky = 0; ky < kernel_height; ++ky) {
      for (int kx = 0; kx < kernel_width; ++kx) {
        visit(value, input.w + (ky * kernel_width + kx) * cell_w,
              input.frame + (kernel_height - 1 - ky) * line + (kernel_width - 1 - kx) * channels);
      }
    }
  }
}

// Calls visit(y_offset, frame_offset) for each output cell of a sample.
template <class Visit>
inline void SparseConv::ForEachOutput(int channels, Visit visit) const {
  int y = 0;
  for (int oy = 0; oy < shape_.out_height(); ++oy) {
    const int first = (oy + shape_.kernel_height - 1) * frame_width_ + shape_.kernel_width - 1;
    for (int ox = 0; ox < shape_.out_width(); ++ox, y += channels) {
      visit(y, (first + ox) * channels);
    }
  }
}

template <int kKernel, int kChannels>
void SparseConv::ForwardFor(const float* x, const float* w, const float* b, Activation activation,
                            float* y) {
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  float* const frame = frame_.data();
  std::fill_n(frame, frame_.size(), 0.0f);  // the border collects what nobody looks at
  for (int row = 0; row < set_.rows(); ++row) {
    ForEachOutput(channels, [=](int, int to) { Copy(channels, b, frame + to); });
    ForEachProduct<kKernel, kChannels>(row, x, [=](float value, int from, int to) {
      AddScaled(channels, value, w + from, frame + to);
    });
    ForEachOutput(channels,
                  [=](int to, int from) { Activate(channels, frame + from, activation, y + to); });
    x += shape_.in_size();
    y += shape_.out_size();
  }
}

template <int kKernel, int kChannels>
void SparseConv::BackwardWeightsFor(const float* x, const float* dy, float* dw, float* db) {
  const int channels = kChannels > 0 ? kChannels : shape_.out_channels;
  float* const frame = frame_.data();
  std::fill_n(frame, frame_.size(), 0.0f);  // the border stays zero below
  std::fill_n(dw, shape_.num_weights(), 0.0f);
  std::fill_n(db, channels, 0.0f);
  for (int row = 0; row < set_.rows(); ++row) {
    ForEachOutput(channels,
                  [=](int from, int to) { CopyAndSum(channels, dy + from, frame + to, db); });
    ForEachProduct<kKernel, kChannels>(row, x, [=](float value, int to, int from) {
      AddScaled(channels, value, frame + from, dw + to);
    });
    x += shape_.in_size();
    dy += shape_.out_size();
  }
}

void SparseConv::Forward(const float* x, const float* w, const float* b, Activation activation,
                         float* y) {
  const bool three = shape_.kernel_height == 3 && shape_.kernel_width == 3;
  if (three && shape_.out_channels == 16) return ForwardFor<3, 16>(x, w, b, activation, y);
  ForwardFor<0, 0>(x, w, b, activation, y);
}

void SparseConv::BackwardWeights(const float* x, const float* dy, float* dw, float* db) {
  const bool three = shape_.kernel_height == 3 && shape_.kernel_width == 3;
  if (three && shape_.out_channels == 16) return BackwardWeightsFor<3, 16>(x, dy, dw, db);
  BackwardWeightsFor<0, 0>(x, dy, dw, db);
}

}  // namespace starling::net::cpu
