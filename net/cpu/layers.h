// Activations, layer normalisation and LSTM cells on the CPU, as ops of net/backend.h.
#pragma once

#include "net/op_args.h"

namespace starling::net::cpu {

void Activate(Activation activation, int count, const float* x, float* y);
void ActivateBackward(const ActivateBackwardArgs<float>& args);

void LayerNormForward(const LayerNormForwardArgs<float>& args);
void LayerNormBackward(const LayerNormBackwardArgs<float>& args);

void LstmCellForward(const LstmCellForwardArgs<float>& args);
void LstmCellBackward(const LstmCellBackwardArgs<float>& args);
void KeepState(int width, int n, const std::uint8_t* resets, const float* from, float* to);

}  // namespace starling::net::cpu
