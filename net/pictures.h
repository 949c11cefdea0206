// Ops around convolutions: a border of zeros, the largest cell of each window, and a sum. Arrays
// are (n, H, W, C) or (n, features), in C order. The functions run on the host, in float and
// double; cuda/pictures.h has those of a GPU.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "core/cuda/each.h"
#include "net/op_args.h"

namespace starling::net {

// A picture, and the zeros around it.
struct PadShape {
  int height = 1, width = 1, channels = 1;
  int top = 0, bottom = 0, left = 0, right = 0;

  constexpr int padded_height() const { return top + height + bottom; }
  constexpr int padded_width() const { return left + width + right; }
  constexpr int size() const { return height * width * channels; }
  constexpr int padded_size() const { return padded_height() * padded_width() * channels; }
};

// y = activation(x) with zeros around it.
template <class T>
struct PadArgs {
  PadShape shape;
  int n;
  const T* x;  // (n, H, W, C)
  Activation activation = Activation::kNone;
  T* y;  // (n, PH, PW, C)
};
template <class T>
void Pad(const PadArgs<T>& args);

// dx is dy without its border, then the mask.
template <class T>
struct CropArgs {
  PadShape shape;
  int n;
  const T* dy;                     // (n, PH, PW, C)
  const T* relu_output = nullptr;  // (n, H, W, C)
  T* dx;                           // (n, H, W, C)
};
template <class T>
void Crop(const CropArgs<T>& args);

// Windows over a picture. They may reach beyond it; only the cells inside count.
struct PoolShape {
  int height = 1, width = 1, channels = 1;  // of the input
  int kernel_height = 1, kernel_width = 1, stride = 1;
  int top = 0, left = 0;              // cells of the first window outside
  int out_height = 1, out_width = 1;  // REQUIRES: each window has a cell inside

  constexpr int size() const { return height * width * channels; }
  constexpr int out_size() const { return out_height * out_width * channels; }
};

// y is the largest x of each window, channel by channel; the first of equal ones, or a NaN.
template <class T>
struct MaxPoolForwardArgs {
  PoolShape shape;
  int n;
  const T* x;           // (n, H, W, C)
  T* y;                 // (n, OH, OW, C)
  std::int32_t* taken;  // (n, OH, OW, C): written, where in its sample each y comes from
};
template <class T>
void MaxPoolForward(const MaxPoolForwardArgs<T>& args);

// dx is the sum of dy over the windows that took x, then the mask.
template <class T>
struct MaxPoolBackwardArgs {
  PoolShape shape;
  int n;
  const T* dy;  // (n, OH, OW, C)
  const std::int32_t* taken;
  const T* relu_output = nullptr;  // (n, H, W, C)
  T* dx;                           // (n, H, W, C)
};
template <class T>
void MaxPoolBackward(const MaxPoolBackwardArgs<T>& args);

// y = a + b, then the mask; y may be a or b.
template <class T>
struct AddArgs {
  int count;
  const T *a, *b;
  const T* relu_output = nullptr;
  T* y;
};
template <class T>
void Add(const AddArgs<T>& args);

// Whether `value` takes the place of `best` as the largest.
template <class T>
HOST_DEVICE inline bool IsLarger(T value, T best) {
  return value > best || value != value;
}

}  // namespace starling::net
