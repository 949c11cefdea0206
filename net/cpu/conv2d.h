// Four ways to convolve on the CPU: over patches, with sums in registers, with such sums for the
// cells that differ, over nonzeros. Shapes in net/op_args.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory.h"
#include "net/cpu/nonzeros.h"
#include "net/op_args.h"

namespace starling::net::cpu {

// For dense inputs: the patches are laid out as a matrix for dense products, a few samples at a
// time so that they stay in cache.
class DenseConv {
 public:
  void Forward(const ConvForwardArgs<float>& args);
  void BackwardWeights(const ConvBackwardWeightsArgs<float>& args);
  void BackwardInput(const ConvBackwardInputArgs<float>& args);

 private:
  // Calls part(first, samples) for parts of the n samples whose patches fit in patches_.
  template <class Part>
  void ForEachPart(const ConvShape& shape, int n, Part part);

  Buffer<float> patches_;  // (samples, OH, OW, KH * KW * CIN)
};

// Without a patch matrix: sums stay in vector registers while the loop streams over inputs and
// weights. Return false and write nothing unless COUT is 16, 32 or a multiple of 64.
bool DirectConvForward(const ConvForwardArgs<float>& args);
bool DirectConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args);

// For pictures with areas of one colour: output cells that see the same inputs, bit for bit, as the
// cell on their left or the one above are of one kind. Each kind is computed once, as DirectConv
// would, and copied. The backward pass first adds up the gradients of its cells.
class RepeatedConv {
 public:
  // Whether `shape` shrinks a picture of few channels and is not too wide, and COUT is 16, 32 or a
  // multiple of 64.
  static bool Fits(const ConvShape& shape);

  // Finds the kinds in x (n, H, W, CIN) for the passes below. Returns false as soon as there are
  // more than three for four cells: most pictures have too few areas then, and the passes must not
  // be called. REQUIRES: Fits(shape).
  bool Gather(const ConvShape& shape, int n, const float* x);

  int kinds() const { return static_cast<int>(kinds_.size()); }  // of all samples

  // REQUIRES: Gather(args.shape, args.n, args.x) was the last Gather and returned true; x is
  // unchanged since.
  void Forward(const ConvForwardArgs<float>& args) const;
  void BackwardWeights(const ConvBackwardWeightsArgs<float>& args);

 private:
  struct Kind {
    int cell;   // its first output cell
    int input;  // offset of that cell's first input in the sample
  };

  // Of a line of inputs, a bit for each block: the inputs of the cell that begin there repeat those
  // of the cell above, or of the one on its left.
  struct Line {
    std::uint64_t above, left;
  };

  void FindIn(const ConvShape& shape, const float* x, int* kinds);
  template <int kBlock>
  void Compare(const ConvShape& shape, const float* x);

  std::vector<int> kind_of_;  // (n, OH, OW): the kind of each cell, from 0 in each sample
  std::vector<Kind> kinds_;   // those of all samples, one sample after the other
  std::vector<int> first_;    // (n + 1): the first kind of each sample
  std::vector<Line> lines_;   // (H) of a sample
  std::vector<float> sums_;   // (kinds of a sample, COUT): gradients
};

// For sparse inputs (games with few set cells or pixels): each nonzero input adds its rows of
// weights to the outputs that see it.
//
// If the stride divides the kernel, `taps` x `taps` outputs see each input. The outputs of one
// sample are summed in a frame: the outputs with a border of (taps - 1) cells on all sides. In it
// an input at the edge takes exactly the same steps as one in the middle. This makes it fast: no
// branch depends on the position of an input.
//
// Zeros are skipped, so a weight that is not finite has an effect only where an input is nonzero.
class SparseConv {
 public:
  // Whether the kernel is square and the stride divides it.
  static bool Fits(const ConvShape& shape);
  explicit SparseConv(const ConvShape& shape);  // REQUIRES: Fits(shape)
  const ConvShape& shape() const { return shape_; }

  // Finds the nonzeros of x (n, H, W, CIN) for the passes below. Returns false if more than a
  // quarter of x is nonzero: a dense product is faster then, and the passes must not be called.
  bool Gather(int n, const float* x);

  // REQUIRES: Gather(args.n, args.x) was the last Gather and returned true; x is unchanged since.
  void Forward(const ConvForwardArgs<float>& args);
  void BackwardWeights(const ConvBackwardWeightsArgs<float>& args);

 private:
  struct Input {
    int frame;  // offset of its first output in the frame
    int w;      // offset of its weights at the first kernel cell that meets it
  };

  // kTaps and kChannels are `taps_` and COUT, or 0 if these are not known at compile time.
  template <int kTaps, int kChannels>
  void ForwardFor(const ConvForwardArgs<float>& args);
  template <int kTaps, int kChannels>
  void BackwardWeightsFor(const ConvBackwardWeightsArgs<float>& args);
  template <int kTaps, int kChannels, class Visit>
  void ForEachProduct(int row, const float* x, Visit visit) const;
  template <class Visit>
  void ForEachOutput(int channels, Visit visit) const;

  ConvShape shape_;
  int taps_;                   // kernel / stride
  int frame_width_;            // cells
  Buffer<float> frame_;        // ((H - 1) / stride + taps, (W - 1) / stride + taps, COUT)
  std::vector<Input> inputs_;  // (H, W, CIN)
  SparseRows set_;             // the nonzeros found by the last Gather
};

}  // namespace starling::net::cpu
