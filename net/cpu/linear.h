// Fully connected layer on the CPU, one dense product for each op; shapes in net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

// y (rows, width) = activation(y + b), b (width).
void AddBiasActivate(int rows, int width, const float* b, Activation activation, float* y);
// sums (width) = column sums of dy (rows, width).
void SumRows(int rows, int width, const float* dy, float* sums);

// Sets dx (count) to zero where relu_output (count) is not positive.
void MaskByRelu(int count, const float* relu_output, float* dx);

void LinearForward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
                   Activation activation, float* y);
void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w, float* y);
void LinearBackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy,
                           float* dw, float* db);
void LinearBackwardInput(const LinearShape& shape, int n, const float* w, const float* dy, Put put,
                         const float* relu_output, float* dx);

}  // namespace starling::net::cpu
