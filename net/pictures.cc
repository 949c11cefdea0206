#include "net/pictures.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

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

namespace {

// y and taken (count) become x and place where these are larger, or equal and of an earlier place.
template <class T>
void TakeLarger(int count, const T* __restrict x, const std::int32_t* __restrict place,
                T* __restrict y, std::int32_t* __restrict taken) {
  for (int j = 0; j < count; ++j) {
    const bool larger = IsLarger(x[j], y[j]) | ((x[j] == y[j]) & (place[j] < taken[j]));
    y[j] = larger ? x[j] : y[j];
    taken[j] = larger ? place[j] : taken[j];
  }
}

// Lines first, then columns, so that the processor works on many cells at once. kChannels is
// s.channels, or 0 if that is not known at compile time.
template <int kChannels, class T>
void MaxPoolForwardFor(const MaxPoolForwardArgs<T>& args) {
  const PoolShape& s = args.shape;
  const int channels = kChannels > 0 ? kChannels : s.channels;
  const int row = s.width * channels, out_row = s.out_width * channels;
  std::vector<T> largest(static_cast<std::size_t>(row)), x(static_cast<std::size_t>(out_row));
  std::vector<std::int32_t> places(largest.size()), place(x.size());
  for (int line = 0; line < args.n * s.out_height; ++line) {
    // 1. The largest of each column of the windows' lines that lie inside.
    const T* const sample = args.x + std::int64_t{line / s.out_height} * s.size();
    const int top = line % s.out_height * s.stride - s.top, first = std::max(top, 0);
    std::copy_n(sample + first * row, row, largest.begin());
    std::iota(places.begin(), places.end(), first * row);
    for (int at = first + 1; at < std::min(top + s.kernel_height, s.height); ++at) {
      for (int j = 0; j < row; ++j) {
        const T value = sample[at * row + j];
        const bool larger = IsLarger(value, largest[j]);
        largest[j] = larger ? value : largest[j];
        places[j] = larger ? at * row + j : places[j];
      }
    }
    // 2. The largest of each window's columns. The first columns of all windows are compared at
    // once, then the second ones, and so on.
    T* const y = args.y + std::int64_t{line} * out_row;
    std::int32_t* const taken = args.taken + std::int64_t{line} * out_row;
    std::fill_n(y, out_row, -std::numeric_limits<T>::infinity());
    std::fill_n(taken, out_row, std::numeric_limits<std::int32_t>::max());
    for (int k = 0; k < s.kernel_width; ++k) {
      int begin = 0, end = s.out_width;  // of the windows whose column lies inside
      while (begin < end && begin * s.stride - s.left + k < 0) ++begin;
      while (begin < end && (end - 1) * s.stride - s.left + k >= s.width) --end;
      for (int ox = begin; ox < end; ++ox) {
        const int column = (ox * s.stride - s.left + k) * channels;
        std::copy_n(&largest[column], channels, &x[ox * channels]);
        std::copy_n(&places[column], channels, &place[ox * channels]);
      }
      const int at = begin * channels;
      TakeLarger((end - begin) * channels, x.data() + at, place.data() + at, y + at, taken + at);
    }
  }
}

}  // namespace

template <class T>
void MaxPoolForward(const MaxPoolForwardArgs<T>& args) {
  args.shape.channels == 4 ? MaxPoolForwardFor<4>(args) : MaxPoolForwardFor<0>(args);
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
