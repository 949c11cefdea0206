// Instantiates the bodies of all ops.
#include "core/cuda/each.cuh"
#include "net/cuda/direct.h"
#include "net/cuda/layers.h"
#include "net/cuda/loss.h"
#include "net/cuda/narrow.h"
#include "net/cuda/norm.h"
#include "net/cuda/patches.h"
#include "net/cuda/pictures.h"
#include "net/cuda/rows.h"
#include "net/cuda/running.h"
#include "net/cuda/sums.h"

namespace starling::cuda {

namespace bodies = net::cuda;

// Numbers and cells of LSTMs and GRUs, one at a time.
template void ForEach(void*, long long, const bodies::BiasActivation<1>&);
template void ForEach(void*, long long, const bodies::BiasActivation<4>&);
template void ForEach(void*, long long, const bodies::ReluMask<1>&);
template void ForEach(void*, long long, const bodies::ReluMask<4>&);
template void ForEach(void*, long long, const bodies::Activate&);
template void ForEach(void*, long long, const bodies::ActivateBackward&);
template void ForEach(void*, long long, const bodies::KeepState&);
template void ForEach(void*, long long, const bodies::LstmCellForward&);
template void ForEach(void*, long long, const bodies::LstmCellBackward&);
template void ForEach(void*, long long, const bodies::GruCellForward&);
template void ForEach(void*, long long, const bodies::GruCellBackward&);

// The rows of an array.
template void ForEach(void*, long long, const bodies::CopyColumns&);
template void ForEachWarp(void*, long long, const bodies::SumRows&);
template void ForEach(void*, long long, const bodies::MaskLogits&);
template void ForEach(void*, long long, const bodies::Gather<float>&);
template void ForEach(void*, long long, const bodies::Gather<std::uint8_t>&);

// Statistics of observations and rewards.
template void ForEach(void*, long long, const bodies::Standardize&);
template void ForEachWarp(void*, long long, const bodies::StandardizePictures&);
template void ForEachWarp(void*, long long, const bodies::MomentParts&);
template void ForEach(void*, long long, const bodies::FinishSums&);
template void ForEach(void*, long long, const bodies::ScaleRewards&);

// Convolutions with borders and windows, and layers with few outputs.
template void ForEach(void*, long long, const bodies::Pad&);
template void ForEach(void*, long long, const bodies::Crop&);
template void ForEach(void*, long long, const bodies::MaxPoolForward&);
template void ForEach(void*, long long, const bodies::MaxPoolBackward&);
template void ForEach(void*, long long, const bodies::Add&);
template void ForEach(void*, long long, const bodies::Patches<1>&);
template void ForEach(void*, long long, const bodies::Patches<4>&);
template void ForEach(void*, long long, const bodies::GatherPatches<1>&);
template void ForEach(void*, long long, const bodies::GatherPatches<4>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 1, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 1, 4>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 4, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<16, 4, 4>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 1, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 1, 2>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 4, 1>&);
template void ForEach(void*, long long, const bodies::DirectConv<32, 4, 2>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<16>&);
template void ForEach(void*, long long, const bodies::DirectWeightGradient<32>&);
#define NARROW(out)                                                                  \
  template void ForEachWarp(void*, long long, const bodies::NarrowForward<out>&);    \
  template void ForEach(void*, long long, const bodies::NarrowWeightGradient<out>&); \
  template void ForEach(void*, long long, const bodies::NarrowBackwardInput<out>&);
NARROW(1)
NARROW(2)
NARROW(3)
NARROW(4)
NARROW(5)
NARROW(6)
NARROW(7)
NARROW(8)
static_assert(bodies::kNarrow == 8);
#undef NARROW

// Sums over many numbers.
template void ForEach(void*, long long, const bodies::ColumnPartials&);
template void ForEach(void*, long long, const bodies::SumShares&);
template void ForEachWarp(void*, long long, const bodies::SumSharesByWarps&);
template void ForEach(void*, long long, const bodies::LayerNormPartials&);
template void ForEachWarp(void*, long long, const bodies::LayerNormForward&);
template void ForEachWarp(void*, long long, const bodies::LayerNormInputGradient&);
template void ForEachWarp(void*, long long, const bodies::SumOfSquares&);
template void ForEachWarp(void*, long long, const bodies::NormAndFactor&);
template void ForEach(void*, long long, const bodies::ScaleBy&);

// The ops above a net.
template void ForEach(void*, long long, const bodies::SampleActions&);
template void ForEach(void*, long long, const bodies::AddBootstrap&);
template void ForEach(void*, long long, const bodies::Advantages&);
template void ForEach(void*, long long, const bodies::LogProbs&);
template void ForEachWarp(void*, long long, const bodies::MomentSums&);
template void ForEachWarp(void*, long long, const bodies::FinishMoments&);
template void ForEachWarp(void*, long long, const bodies::LossOfSamples&);
template void ForEachWarp(void*, long long, const bodies::ReportLoss&);

}  // namespace starling::cuda
