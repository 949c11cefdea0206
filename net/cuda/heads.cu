// Instantiates the bodies of the ops above a net.
#include "core/cuda/each.cuh"
#include "net/cuda/heads.h"
#include "net/cuda/loss.h"

namespace starling::cuda {

namespace bodies = net::cuda;

template void ForEach(void*, long long, const bodies::SampleActions&);
template void ForEach(void*, long long, const bodies::AddBootstrap&);
template void ForEach(void*, long long, const bodies::Advantages&);
template void ForEachWarp(void*, long long, const bodies::LossOfSamples&);
template void ForEachWarp(void*, long long, const bodies::ReportLoss&);

}  // namespace starling::cuda
