// Instantiates the bodies of single numbers.
#include "core/cuda/each.cuh"
#include "net/cuda/elementwise.h"
#include "net/cuda/lstm.h"

namespace starling::cuda {

namespace bodies = net::cuda;

template void ForEach(void*, long long, const bodies::BiasActivation<1>&);
template void ForEach(void*, long long, const bodies::BiasActivation<4>&);
template void ForEach(void*, long long, const bodies::ReluMask<1>&);
template void ForEach(void*, long long, const bodies::ReluMask<4>&);
template void ForEach(void*, long long, const bodies::Activate&);
template void ForEach(void*, long long, const bodies::ActivateBackward&);
template void ForEach(void*, long long, const bodies::KeepState&);
template void ForEach(void*, long long, const bodies::LstmCellForward&);
template void ForEach(void*, long long, const bodies::LstmCellBackward&);

}  // namespace starling::cuda
