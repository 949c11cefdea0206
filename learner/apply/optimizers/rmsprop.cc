// RMSProp (Tieleman & Hinton 2012), with d = decay and c = 1 / (1 - d^t), or 1 without bias
// correction (Kingma & Ba 2015, section 3):
//
//   s = d s + (1 - d) g^2                   square_avg
//   w -= lr g / (sqrt(c s) + epsilon)       epsilon outside
//   w -= lr g / sqrt(c s + epsilon)         epsilon inside, as in the A3C paper (Mnih et al. 2016)
//
// Centred (Graves 2013): the variance replaces the mean square:
//
//   a = d a + (1 - d) g                     grad_avg
//   c (s - a^2)                             instead of c s; 0 if rounding makes it negative
//
// The correction applies to the variance as a whole. If each average were corrected by itself,
// (c s) - (c a)^2, the first gradient would equal its mean: variance 0, a step of lr g / epsilon.
//
// With momentum mu, as in PyTorch: v = mu v + g / (...), w -= lr v.
#include <algorithm>
#include <cmath>

#include "learner/apply/optimizer.h"

namespace starling::learner {
namespace {

struct Numbers {
  float lr, correction, decay, rest, epsilon, momentum;
};

// The switches are template parameters: a loop without branches becomes vector code. The pointer of
// an unused slot is nullptr.
template <bool kInside, bool kCentered, bool kMomentum>
void Loop(std::size_t n, const Numbers& numbers, const float* __restrict gradient,
          float* __restrict weights, float* __restrict square_avg, float* __restrict grad_avg,
          float* __restrict velocity) {
  const auto [lr, correction, decay, rest, epsilon, momentum] = numbers;
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    float s = decay * square_avg[i] + rest * (g * g);
    square_avg[i] = s;
    if constexpr (kCentered) {
      const float a = decay * grad_avg[i] + rest * g;
      grad_avg[i] = a;
      s = std::max(0.0f, s - a * a);  // the variance; rounding can make it negative
    }
    const float corrected = s * correction;
    const float root = kInside ? std::sqrt(corrected + epsilon) : std::sqrt(corrected) + epsilon;
    float v = g / root;
    if constexpr (kMomentum) {
      v += momentum * velocity[i];
      velocity[i] = v;
    }
    weights[i] -= lr * v;
  }
}

template <bool kInside>
constexpr auto PickLoop(bool centered, bool momentum) {
  if (centered) return momentum ? Loop<kInside, true, true> : Loop<kInside, true, false>;
  return momentum ? Loop<kInside, false, true> : Loop<kInside, false, false>;
}

std::vector<std::string> Slots(const OptimizerSpec& spec) {
  std::vector<std::string> slots = {"square_avg"};
  if (spec.centered) slots.emplace_back("grad_avg");
  if (spec.momentum > 0) slots.emplace_back("momentum");
  return slots;
}

StepSize Step(const OptimizerSpec& spec, double lr, std::uint64_t step) {
  const double correction = spec.bias_correction ? BiasCorrection(spec.decay, step) : 1;
  return {.lr = static_cast<float>(lr), .correction = static_cast<float>(correction)};
}

void Apply(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
           std::span<float> weights, std::span<const std::span<float>> state) {
  const Numbers numbers = {.lr = step.lr,
                           .correction = step.correction,
                           .decay = static_cast<float>(spec.decay),
                           .rest = static_cast<float>(1 - spec.decay),
                           .epsilon = CheckedEpsilon(spec),
                           .momentum = static_cast<float>(spec.momentum)};
  const bool momentum = spec.momentum > 0;
  const auto loop = spec.epsilon_inside ? PickLoop<true>(spec.centered, momentum)
                                        : PickLoop<false>(spec.centered, momentum);
  loop(weights.size(), numbers, gradient.data(), weights.data(), state[0].data(),
       spec.centered ? state[1].data() : nullptr, momentum ? state.back().data() : nullptr);
}

}  // namespace

constinit const OptimizerRule kRmsProp{OptimizerKind::kRmsProp, Slots, Step, Apply};

}  // namespace starling::learner
