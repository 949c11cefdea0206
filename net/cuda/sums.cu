// Instantiates the bodies that sum over many numbers.
#include "core/cuda/each.cuh"
#include "net/cuda/clip.h"
#include "net/cuda/layer_norm.h"
#include "net/cuda/sums.h"

namespace starling::cuda {

namespace bodies = net::cuda;

template void ForEach(void*, long long, const bodies::ColumnPartials&);
template void ForEach(void*, long long, const bodies::SumShares&);
template void ForEachWarp(void*, long long, const bodies::SumSharesByWarps&);
template void ForEach(void*, long long, const bodies::LayerNormPartials&);
template void ForEachWarp(void*, long long, const bodies::LayerNormForward&);
template void ForEachWarp(void*, long long, const bodies::LayerNormBackward&);
template void ForEachWarp(void*, long long, const bodies::SumOfSquares&);
template void ForEachWarp(void*, long long, const bodies::NormAndFactor&);
template void ForEach(void*, long long, const bodies::ScaleBy&);

}  // namespace starling::cuda
