// A step of an LSTM; see net/backend.h.
#pragma once

#include <cstdint>

namespace starling::net::cpu {

void LstmCellForward(int hidden, int n, float* gates, const float* c_in, float* c, float* h);
void LstmCellBackward(int hidden, int n, const float* gates, const float* c_in, const float* c,
                      const float* dy, const float* dh, float* dc, float* dgates);
void KeepState(int width, int n, const std::uint8_t* resets, const float* from, float* to);

}  // namespace starling::net::cpu
