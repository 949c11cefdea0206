// Shapes and arguments of ops (net/backend.h): the arrays of each op, their shapes, its formula.
//
// Arrays are dense, in C order:
//   activations     (n, H, W, C) or (n, features) for n samples; one is the other flattened
//   conv weights    (KH, KW, CIN, COUT): one input cell meets COUT adjacent weights
//   linear weights  (IN, OUT)
//   recurrent state (n, HIDDEN)
// An int counts the elements of each array (MakeModel in net/model.h checks that it can).
//
// Names that backward ops share, unless a member has another comment:
//   dy           the gradient of the output *before* its activation: its writer has masked it
//   relu_output  x, if x is the output of a relu. The op then sets dx to zero where x is not
//                positive, so dx is the gradient before that relu. nullptr: no mask
//
// Callers name arguments by designated initialisers. A member without a default is required; the
// compiler warns if it is missing.
#pragma once

#include <cstdint>

namespace starling::net {

struct LinearShape {
  int in = 1, out = 1;
};

// A convolution without padding.
struct ConvShape {
  int height = 1, width = 1, in_channels = 1;  // of the input
  int kernel_height = 3, kernel_width = 3, stride = 1, out_channels = 1;

  constexpr int out_height() const { return (height - kernel_height) / stride + 1; }
  constexpr int out_width() const { return (width - kernel_width) / stride + 1; }
  constexpr int in_size() const { return height * width * in_channels; }
  constexpr int out_cells() const { return out_height() * out_width(); }
  constexpr int out_size() const { return out_cells() * out_channels; }
  // The number of inputs that one output depends on.
  constexpr int patch() const { return kernel_height * kernel_width * in_channels; }
  constexpr int num_weights() const { return patch() * out_channels; }
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

// kNone and kRelu are fused into the op that writes y; kTanh is an op of its own. All keep a NaN.
enum class Activation : std::uint8_t { kNone, kRelu, kTanh };
enum class Put : std::uint8_t { kReplace, kAdd };  // replace the output array or add to it

inline constexpr double kLayerNormEpsilon = 1e-5;  // PyTorch's

// y = activation(x . w + b).
template <class T>
struct LinearForwardArgs {
  LinearShape shape;
  int n;
  const T* x;  // (n, IN)
  const T* w;  // (IN, OUT)
  const T* b;  // (OUT)
  Activation activation = Activation::kNone;
  T* y;  // (n, OUT)
};

// dw = xT . dy, db = the sum of dy over n.
template <class T>
struct LinearBackwardWeightsArgs {
  LinearShape shape;
  int n;
  const T* x;   // (n, IN)
  const T* dy;  // (n, OUT)
  T* dw;        // (IN, OUT)
  T* db;        // (OUT)
};

// dx = dy . wT, or dx += that product; then the mask.
template <class T>
struct LinearBackwardInputArgs {
  LinearShape shape;
  int n;
  const T* w;   // (IN, OUT)
  const T* dy;  // (n, OUT)
  Put put = Put::kReplace;
  const T* relu_output = nullptr;  // (n, IN)
  T* dx;                           // (n, IN)
};

// Both of the above, where x is the output of a relu and so the mask of dx.
template <class T>
struct LinearBackwardArgs {
  LinearShape shape;
  int n;
  const T *x, *w, *dy;
  T *dw, *db, *dx;

  LinearBackwardWeightsArgs<T> weights() const { return {shape, n, x, dy, dw, db}; }
  LinearBackwardInputArgs<T> input() const {
    return {.shape = shape, .n = n, .w = w, .dy = dy, .relu_output = x, .dx = dx};
  }
};

// y = activation(x * w + b), where x * w at [i,oy,ox,:] is the sum over ky, kx, c of
// x[i, oy*stride+ky, ox*stride+kx, c] w[ky,kx,c,:].
template <class T>
struct ConvForwardArgs {
  ConvShape shape;
  int n;
  const T* x;  // (n, H, W, CIN)
  const T* w;  // (KH, KW, CIN, COUT)
  const T* b;  // (COUT)
  Activation activation = Activation::kNone;
  T* y;  // (n, OH, OW, COUT)
};

// The gradients of w and b, summed over n and all output cells.
template <class T>
struct ConvBackwardWeightsArgs {
  ConvShape shape;
  int n;
  const T* x;   // (n, H, W, CIN)
  const T* dy;  // (n, OH, OW, COUT)
  T* dw;        // (KH, KW, CIN, COUT)
  T* db;        // (COUT)
};

// The gradient of x, then the mask.
template <class T>
struct ConvBackwardInputArgs {
  ConvShape shape;
  int n;
  const T* w;                      // (KH, KW, CIN, COUT)
  const T* dy;                     // (n, OH, OW, COUT)
  const T* relu_output = nullptr;  // (n, H, W, CIN)
  T* dx;                           // (n, H, W, CIN)
};

// dx = dy times the derivative of the activation, which follows from y; then the mask.
template <class T>
struct ActivateBackwardArgs {
  Activation activation;
  int count;                       // of elements in each array
  const T *y, *dy;                 // dy is the gradient after the activation
  const T* relu_output = nullptr;  // the input of the activation
  T* dx;
};

// Layer normalisation, each sample on its own (Ba et al. 2016):
// y = activation((x - mean) rstd scale + bias), rstd = 1 / sqrt(variance + kLayerNormEpsilon), with
// mean and variance over WIDTH.
template <class T>
struct LayerNormForwardArgs {
  int width, n;
  const T* x;             // (n, WIDTH)
  const T *scale, *bias;  // (WIDTH)
  Activation activation = Activation::kNone;
  T* moments;  // (n, 2): written, mean and rstd
  T* y;        // (n, WIDTH)
};

// dscale and dbias are summed over n; dx, then the mask. What is not wanted is nullptr: dx, or
// dscale and dbias.
template <class T>
struct LayerNormBackwardArgs {
  int width, n;
  const T* x;                      // (n, WIDTH)
  const T* scale;                  // (WIDTH)
  const T* moments;                // (n, 2), from the forward op
  const T* dy;                     // (n, WIDTH)
  const T* relu_output = nullptr;  // (n, WIDTH)
  T *dscale, *dbias;               // (WIDTH)
  T* dx;                           // (n, WIDTH)
};

// A step of an LSTM with a forget gate (Gers et al. 2000): with i, f, o the sigmoid and g the tanh
// of their sums, c = f c_in + i g and h = o tanh(c).
template <class T>
struct LstmCellForwardArgs {
  int hidden, n;
  T* gates;       // (n, 4 HIDDEN): on entry the sums of i, f, g, o; on return i, f, g, o
  const T* c_in;  // (n, HIDDEN)
  T *c, *h;       // (n, HIDDEN)
};

template <class T>
struct LstmCellBackwardArgs {
  int hidden, n;
  const T* gates;     // (n, 4 HIDDEN): i, f, g, o
  const T *c_in, *c;  // (n, HIDDEN)
  const T* dy;        // (n, HIDDEN): the gradient of h from the layer above
  const T* dh;        // (n, HIDDEN): the gradient of h from the next step
  T* dc;      // (n, HIDDEN): on entry the gradient of c from the next step; on return, of c_in
  T* dgates;  // (n, 4 HIDDEN): the gradients of the sums
};

// A step of a gated recurrent unit (Cho et al. 2014), whose reset gate acts behind the product, as
// in cuDNN and PyTorch. With the sums from the input (x) and from the state (h):
// r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), m = tanh(x_m + r h_m), h = (1 - z) m + z h_in.
template <class T>
struct GruCellForwardArgs {
  int hidden, n;
  T* gates;         // (n, 3 HIDDEN): on entry the sums x of r, z, m; on return r, z, m
  const T* from_h;  // (n, 3 HIDDEN): the sums h
  const T* h_in;    // (n, HIDDEN)
  T* h;             // (n, HIDDEN)
};

template <class T>
struct GruCellBackwardArgs {
  int hidden, n;
  const T* gates;   // (n, 3 HIDDEN): r, z, m
  const T* from_h;  // (n, 3 HIDDEN)
  const T* h_in;    // (n, HIDDEN)
  const T* dy;      // (n, HIDDEN): the gradient of h from the layer above
  // (n, HIDDEN): on entry the gradient of h from the next step; on return z times that of h, to
  // which dh_sums by the hidden weights adds the rest of the gradient of h_in.
  T* dh;
  T *dx_sums, *dh_sums;  // (n, 3 HIDDEN): the gradients of both sums; they differ in m alone
};

}  // namespace starling::net
