// Instantiates the bodies of convolutions and of layers with few outputs.
#include "core/cuda/each.cuh"
#include "net/cuda/direct.h"
#include "net/cuda/patches.h"

namespace starling::cuda {

namespace bodies = net::cuda;

template void ForEach(void*, long long, const bodies::Patches<1>&);
template void ForEach(void*, long long, const bodies::Patches<4>&);
template void ForEach(void*, long long, const bodies::GatherPatches<1>&);
template void ForEach(void*, long long, const bodies::GatherPatches<4>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 4>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 4>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<16>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<32>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<1>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<2>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<3>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<4>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<5>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<6>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<7>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<8>&);
template void ForEach(void*, long long, const bodies::NarrowBackwardInput&);
template void ForEachWarp(void*, long long, const bodies::NarrowForward&);

}  // namespace starling::cuda
