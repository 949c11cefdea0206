// Layers in f32 on the CPU, as ops of net/backend.h (shapes in net/op_args.h): fully connected
// ones, by one dense product for each op or by loops over nonzeros; activations, layer norms, LSTM
// cells.
#pragma once

#include <cstdint>
#include <vector>

#include "net/cpu/nonzeros.h"
#include "net/op_args.h"

namespace starling::net::cpu {

// y (rows, width) = activation(y + b), b (width).
void AddBiasActivate(int rows, int width, const float* b, Activation activation, float* y);
// sums (width) = column sums of dy (rows, width).
void SumRows(int rows, int width, const float* dy, float* sums);

// Sets dx (count) to zero where relu_output (count) is not positive.
void MaskByRelu(int count, const float* relu_output, float* dx);

void LinearForward(const LinearForwardArgs<float>& args);
void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w, float* y);
void LinearBackwardWeights(const LinearBackwardWeightsArgs<float>& args);
void LinearBackwardInput(const LinearBackwardInputArgs<float>& args);

// For the sparse outputs of a relu (in a trained net seven of eight are zero): products with zeros
// are skipped. So a weight that is not finite has an effect only where an input is nonzero.
//
// Each pass returns false and writes nothing if too much of x is nonzero, or if OUT is no multiple
// of 16: a dense product is faster then.
class SparseLinear {
 public:
  bool Forward(const LinearForwardArgs<float>& args);
  bool Backward(const LinearBackwardArgs<float>& args);

 private:
  static constexpr int kBlock = 64;  // samples per block

  void FindColumns(int in, int first, int samples);
  void BackwardBlock(const LinearBackwardArgs<float>& block, bool replace) const;

  SparseRows set_;
  std::vector<std::uint64_t> columns_;  // (IN): one bit for each sample of a block
};

void Activate(Activation activation, int count, const float* x, float* y);
void ActivateBackward(const ActivateBackwardArgs<float>& args);

void LayerNormForward(const LayerNormForwardArgs<float>& args);
void LayerNormBackward(const LayerNormBackwardArgs<float>& args);

void LstmCellForward(const LstmCellForwardArgs<float>& args);
void LstmCellBackward(const LstmCellBackwardArgs<float>& args);
void GruCellForward(const GruCellForwardArgs<float>& args);
void GruCellBackward(const GruCellBackwardArgs<float>& args);
void KeepState(int width, int n, const std::uint8_t* resets, const float* from, float* to);

}  // namespace starling::net::cpu
