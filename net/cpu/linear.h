// Fully connected layer on the CPU, one dense product for each op; shapes in net/op_args.h.
#pragma once

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

}  // namespace starling::net::cpu
