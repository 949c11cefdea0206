// Convolution of sparse inputs on the CPU (games of a few cells or pixels on black): each nonzero
// input adds its weight rows to the outputs that see it. Shapes in net/backend.h.
//
// Where the stride divides the kernel, each input is seen by `taps` x `taps` outputs. One sample's
// outputs are worked on in a frame: the outputs with a border of (taps - 1) cells all around, so
// that an input at the edge takes exactly the steps of one in the middle. That is what makes it
// fast: no branch depends on where the inputs are.
//
// Zeros are skipped, so a weight that is not finite shows only where an input is set.
#pragma once

#include <cstddef>
#include <vector>

#include "core/buffer.h"
#include "net/backend.h"
#include "net/cpu/nonzeros.h"

namespace starling::net::cpu {

class SparseConv {
 public:
  // Whether the kernel is square and the stride divides it.
  static bool Fits(const ConvShape& shape);
  explicit SparseConv(const ConvShape& shape);  // Fits(shape)
  const ConvShape& shape() const { return shape_; }

  // Finds the nonzeros of x (n, H, W, CIN) for the passes below, which read x again. False, and
  // nothing to use, if more than a quarter of x is set: the dense way is faster then.
  bool Gather(int n, const float* x);

  // Over the rows gathered last, x as it was.
  void Forward(const float* x, const float* w, const float* b, Activation activation, float* y);
  void BackwardWeights(const float* x, const float* dy, float* dw, float* db);

 private:
  struct Input {
    int frame;  // offset of its first output in the frame; the others follow from `taps`
    int w;      // offset of its weights at the kernel cell nearest to the origin that it meets
  };

  // kTaps and kChannels: `taps_` and COUT; 0 if only known when it runs.
  template <int kTaps, int kChannels>
  void ForwardFor(const float* x, const float* w, const float* b, Activation activation, float* y);
  template <int kTaps, int kChannels>
  void BackwardWeightsFor(const float* x, const float* dy, float* dw, float* db);
  template <int kTaps, int kChannels, class Visit>
  void ForEachProduct(int row, const float* x, Visit visit) const;
  template <class Visit>
  void ForEachOutput(int channels, Visit visit) const;

  ConvShape shape_;
  int taps_;                   // kernel / stride
  int frame_width_;            // cells
  Buffer<float> frame_;        // ((H - 1) / stride + taps, (W - 1) / stride + taps, COUT)
  std::vector<Input> inputs_;  // (H, W, CIN)
  SparseRows set_;             // of what was gathered last
};

}  // namespace starling::net::cpu
