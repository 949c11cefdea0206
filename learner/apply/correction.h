// How a stale gradient is mended: `staleness.correction`. A gradient g was computed on the weights
// b and is applied to the weights w. For each weight by itself:
//
//   delay_compensated            g + lambda g^2 (w - b)
//   delay_compensated_adaptive   g + lambda g^2 (w - b) / rms(g)
//   gap                          g / (1 + |w - b| / rms(step))
//
// Delay compensation (DC-ASGD, Zheng et al. 2017) is the first order of Taylor's series of the
// gradient around b, with lambda g^2 in the place of the second derivative; the adaptive form
// (DC-ASGD-a there) makes lambda independent of the scale of the gradients. Gap-aware (Barkai et
// al. 2020) divides the gradient by the distance that the weight has moved meanwhile, in steps of
// its usual length.
//
// rms is the root of a running mean of squares, corrected for its start at zero, over the updates
// before this one: of the gradients of the updates (with 1e-7 added under the root), or of the
// steps that they made. (The papers include the gradient itself, and take the steps of plain SGD
// with momentum; these are the steps of any optimizer.)
//
// With w = b each is g. Thread safety: pure functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/config/config.h"

namespace starling::learner {

struct CorrectionSpec {
  Correction kind = Correction::kNone;
  float lambda = 0;
  std::uint64_t versions = 0;  // how many versions back a base may lie

  // No gradient is stale at bound 0, and so none is mended.
  bool mends() const { return kind != Correction::kNone && versions > 0; }
  // Name of the vector with the running mean of squares, kept with the state of the optimizer; ""
  // if there is none.
  std::string_view squares() const;
};
CorrectionSpec MakeCorrectionSpec(const StalenessConfig& config);

// What a block of weights has besides its gradient.
struct StaleBlock {
  std::span<const float> now, base;  // w, b
  std::span<const float> squares;    // the running mean; empty if there is none
  float unbias = 1;                  // 1 / (1 - decay^updates)
};
// Returns StaleBlock::unbias for update number `step`, from 1: the mean is over those before it.
float UnbiasSquares(std::uint64_t step);

// Writes the mended gradient. REQUIRES: spec.mends(), and all spans have the same size.
void Mend(const CorrectionSpec& spec, const StaleBlock& block, std::span<const float> gradient,
          std::span<float> mended);

// Adds an update to the running mean: `gradient` is the one that it applied, `before` and `after`
// are the weights. REQUIRES: the mean is kept, and all spans have the same size.
void AverageSquares(const CorrectionSpec& spec, std::span<const float> gradient,
                    std::span<const float> before, std::span<const float> after,
                    std::span<float> squares);

}  // namespace starling::learner
