// The checks, one for each op of net/backend.h; op_checks.cc lists them.
#pragma once

namespace starling::net::checks {

class Trial;

void LinearForward(Trial& trial);  // linear.cc
void LinearAccumulate(Trial& trial);
void LinearBackwardWeights(Trial& trial);
void LinearBackwardInput(Trial& trial);
void LinearBackward(Trial& trial);

void ConvForward(Trial& trial);  // conv2d.cc
void ConvBackwardWeights(Trial& trial);
void ConvBackwardInput(Trial& trial);

void Activate(Trial& trial);  // layers.cc
void ActivateBackward(Trial& trial);
void LayerNormForward(Trial& trial);
void LayerNormBackward(Trial& trial);
void LstmCellForward(Trial& trial);
void LstmCellBackward(Trial& trial);
void KeepState(Trial& trial);

void SampleActions(Trial& trial);  // heads.cc
void AddBootstrap(Trial& trial);
void Advantages(Trial& trial);
void Loss(Trial& trial);
void ClipByGlobalNorm(Trial& trial);

}  // namespace starling::net::checks
