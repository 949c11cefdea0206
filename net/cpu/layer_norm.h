// Layer normalisation, sample by sample; see net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

void LayerNormForward(int width, int n, const float* x, const float* scale, const float* bias,
                      Activation activation, float* moments, float* y);
void LayerNormBackward(int width, int n, const float* x, const float* scale, const float* moments,
                       const float* dy, const float* relu_output, float* dscale, float* dbias,
                       float* dx);

}  // namespace starling::net::cpu
