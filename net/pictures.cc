#include "net/pictures.h"

#include <algorithm>

#include "net/masked.h"

namespace starling::net {
template <class T>
void Pad(const PadArgs<T>& args) {
  const PadShape& s = args.shape;
  const int row = s.width * s.channels, before = s.left * s.channels, after = s.right * s.channels;
  const bool relu = args.activation == Activation::kRelu;
  const T* x = args.x;
  T* y = args.y;
  for (int i = 0; i < args.n; ++i) {
    y = std::fill_n(y, s.top * s.padded_width() * s.channels, T(0));
    for (int line = 0; line < s.height; ++line, x += row) {
      y = std::fill_n(y, before, T(0));
      for (int j = 0; j < row; ++j) y[j] = relu && x[j] < T(0) ? T(0) : x[j];
      y = std::fill_n(y + row, after, T(0));
    }
    y = std::fill_n(y, s.bottom * s.padded_width() * s.channels, T(0));
  }
}

template <class T>
void Crop(const CropArgs<T>& args) {
  const PadShape& s = args.shape;
  const int row = s.width * s.channels, padded_row = s.padded_width() * s.channels;
  std::int64_t to = 0;
  for (int i = 0; i < args.n; ++i) {
    const T* from = args.dy + std::int64_t{i} * s.padded_size() + s.top * padded_row;
    for (int line = 0; line < s.height; ++line, from += padded_row) {
      for (int j = 0; j < row; ++j, ++to) {
        args.dx[to] = Masked(args.relu_output, to, from[s.left * s.channels + j]);
      }
    }
  }
}

template <class T>
void MaxPoolForward(const MaxPoolForwardArgs<T>& args) {
  const PoolShape& s = args.shape;
  const T* x = args.x;
  T* y = args.y;
  std::int32_t* taken = args.taken;
  for (int i = 0; i < args.n; ++i, x += s.size()) {
    for (int window = 0; window < s.out_height * s.out_width; ++window) {
      // The cells of the window that lie inside.
      const int top = window / s.out_width * s.stride - s.top;
      const int left = window % s.out_width * s.stride - s.left;
      const int bottom = std::min(top + s.kernel_height, s.height);
      const int right = std::min(left + s.kernel_width, s.width);
      const int first = (std::max(top, 0) * s.width + std::max(left, 0)) * s.channels;
      for (int c = 0; c < s.channels; ++c) y[c] = x[first + c], taken[c] = first + c;
      for (int line = std::max(top, 0); line < bottom; ++line) {
        for (int column = std::max(left, 0); column < right; ++column) {
          const int cell = (line * s.width + column) * s.channels;
          for (int c = 0; c < s.channels; ++c) {
            const bool larger = IsLarger(x[cell + c], y[c]);
            y[c] = larger ? x[cell + c] : y[c];
            taken[c] = larger ? cell + c : taken[c];
          }
        }
      }
      y += s.channels;
      taken += s.channels;
    }
  }
}

template <class T>
void MaxPoolBackward(const MaxPoolBackwardArgs<T>& args) {
  const PoolShape& s = args.shape;
  const std::int64_t size = s.size(), out = s.out_size();
  std::fill_n(args.dx, args.n * size, T(0));
  for (int i = 0; i < args.n; ++i) {
    T* const dx = args.dx + i * size;
    for (std::int64_t at = i * out; at < (i + 1) * out; ++at) dx[args.taken[at]] += args.dy[at];
  }
  if (args.relu_output == nullptr) return;
  for (std::int64_t at = 0; at < args.n * size; ++at) {
    args.dx[at] = Masked(args.relu_output, at, args.dx[at]);
  }
}

template <class T>
void Add(const AddArgs<T>& args) {
  for (int j = 0; j < args.count; ++j) {
    args.y[j] = Masked(args.relu_output, j, args.a[j] + args.b[j]);
  }
}

template void Pad(const PadArgs<float>&);
template void Pad(const PadArgs<double>&);
template void Crop(const CropArgs<float>&);
template void Crop(const CropArgs<double>&);
template void MaxPoolForward(const MaxPoolForwardArgs<float>&);
template void MaxPoolForward(const MaxPoolForwardArgs<double>&);
template void MaxPoolBackward(const MaxPoolBackwardArgs<float>&);
template void MaxPoolBackward(const MaxPoolBackwardArgs<double>&);
template void Add(const AddArgs<float>&);
template void Add(const AddArgs<double>&);

}  // namespace starling::net
