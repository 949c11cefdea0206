// Activations as layers of their own; see net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

void Activate(Activation activation, int count, const float* x, float* y);
void ActivateBackward(Activation activation, int count, const float* y, const float* dy,
                      const float* relu_output, float* dx);

}  // namespace starling::net::cpu
