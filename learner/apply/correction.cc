#include "learner/apply/correction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/check.h"
#include "learner/apply/optimizer.h"

namespace starling::learner {
namespace {

constexpr double kDecay = 0.95;    // of the mean of squares, as published for DC-ASGD-a
constexpr float kEpsilon = 1e-7f;  // under the root of the gradients, likewise
// A weight that has never had a gradient has moved nowhere: 0 / kTiny = 0.
constexpr float kTiny = 1e-20f;
// The values of lambda for which the paper reports its results.
constexpr double kLambda = 0.04, kAdaptiveLambda = 2;

void Compensate(std::size_t n, float lambda, const float* __restrict g, const float* __restrict w,
                const float* __restrict b, float* __restrict mended) {
  for (std::size_t i = 0; i < n; ++i) mended[i] = g[i] + lambda * (g[i] * g[i]) * (w[i] - b[i]);
}

void CompensateAdaptive(std::size_t n, float lambda, float unbias, const float* __restrict g,
                        const float* __restrict w, const float* __restrict b,
                        const float* __restrict squares, float* __restrict mended) {
  for (std::size_t i = 0; i < n; ++i) {
    const float relative = g[i] / std::sqrt(squares[i] * unbias + kEpsilon);
    mended[i] = g[i] + lambda * (g[i] * relative) * (w[i] - b[i]);
  }
}

void DivideByGap(std::size_t n, float unbias, const float* __restrict g, const float* __restrict w,
                 const float* __restrict b, const float* __restrict squares,
                 float* __restrict mended) {
  for (std::size_t i = 0; i < n; ++i) {
    const float steps = std::abs(w[i] - b[i]) / (std::sqrt(squares[i] * unbias) + kTiny);
    mended[i] = g[i] / (1 + steps);
  }
}

}  // namespace

std::string_view CorrectionSpec::squares() const {
  switch (kind) {
    case Correction::kDelayCompensatedAdaptive:
      return "gradient_square_avg";
    case Correction::kGap:
      return "step_square_avg";
    default:
      return "";
  }
}

CorrectionSpec MakeCorrectionSpec(const StalenessConfig& config) {
  if (config.correction == Correction::kNone) return {};
  const std::uint64_t versions = std::min(config.bound, config.delay);  // none is older
  CHECK(versions != kUnbounded, "a correction without a bound");
  const bool adaptive = config.correction == Correction::kDelayCompensatedAdaptive;
  const double published = adaptive ? kAdaptiveLambda : kLambda;
  const double lambda = config.compensation < 0 ? published : config.compensation;
  return {config.correction, static_cast<float>(lambda), versions};
}

float UnbiasSquares(std::uint64_t step) {
  CHECK(step >= 1, "the first update is step 1");
  return step == 1 ? 1 : static_cast<float>(BiasCorrection(kDecay, step - 1));
}

void Mend(const CorrectionSpec& spec, const StaleBlock& block, std::span<const float> gradient,
          std::span<float> mended) {
  const std::size_t n = gradient.size();
  CHECK(block.now.size() == n && block.base.size() == n && mended.size() == n, "{} floats", n);
  CHECK(block.squares.size() == (spec.squares().empty() ? 0 : n), "{}", block.squares.size());
  const float *g = gradient.data(), *w = block.now.data(), *b = block.base.data();
  switch (spec.kind) {
    case Correction::kDelayCompensated:
      return Compensate(n, spec.lambda, g, w, b, mended.data());
    case Correction::kDelayCompensatedAdaptive:
      return CompensateAdaptive(n, spec.lambda, block.unbias, g, w, b, block.squares.data(),
                                mended.data());
    case Correction::kGap:
      return DivideByGap(n, block.unbias, g, w, b, block.squares.data(), mended.data());
    case Correction::kNone:
      break;
  }
  CHECK(false, "nothing mends");
}

void AverageSquares(const CorrectionSpec& spec, std::span<const float> gradient,
                    std::span<const float> before, std::span<const float> after,
                    std::span<float> squares) {
  constexpr auto kKept = static_cast<float>(kDecay), kAdded = static_cast<float>(1 - kDecay);
  const bool of_steps = spec.kind == Correction::kGap;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const float value = of_steps ? after[i] - before[i] : gradient[i];
    squares[i] = kKept * squares[i] + kAdded * (value * value);
  }
}

}  // namespace starling::learner
