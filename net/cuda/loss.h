// Actions, advantages, the loss and its gradient. Same formulas as net/loss.cc; results may differ
// in the last bits.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "net/cuda/elementwise.h"
#include "net/loss.h"
#include "net/policy.h"
#include "net/surrogate.h"

namespace starling::net::cuda {

struct SampleActions {
  SampleActionsArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    DrawAction(a.policy, a.logits + i * a.policy.outputs, a.streams[i],
               a.taken + i * a.policy.width);
  }
};

struct AddBootstrap {
  AddBootstrapArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    if (a.ends[i] == a.truncated) a.rewards[i] += static_cast<float>(a.gamma) * a.values[i];
  }
};

// One thread for each env, backwards in time.
struct Advantages {
  AdvantagesArgs<float> a;
  float discount, decay;  // gamma, gamma lambda

  HOST_DEVICE void operator()(long long env) const {
    float next_value = a.bootstrap[env], next_advantage = 0;
    for (int t = a.shape.steps - 1; t >= 0; --t) {
      const long long i = 1ll * t * a.shape.envs + env;
      const float goes_on = a.terminals[i] != 0 ? 0.0f : 1.0f, value = a.values[i];
      const float delta = a.rewards[i] + goes_on * discount * next_value - value;
      next_advantage = delta + goes_on * decay * next_advantage;
      next_value = value;
      a.advantages[i] = next_advantage;
      a.returns[i] = next_advantage + value;
    }
  }
};

struct LogProbs {
  LogProbsArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    const long long row = RowOf(a.rows, i);
    const RowPolicy<float> pi(a.policy, a.logits + i * a.policy.outputs,
                              a.taken + row * a.policy.width, nullptr);
    a.logps[row] = pi.logp();
  }
};

// Warp g adds up the advantages of samples [g * group, (g + 1) * group) and their squares, both
// relative to the first advantage, which keeps the digits of the deviation: partial (2, groups).
struct MomentSums {
  MomentsArgs<float> a;
  int group, groups;
  double* partial;

  template <class Lanes>
  HOST_DEVICE void operator()(long long g, const Lanes& lanes) const {
    const long long begin = g * group, end = a.n - begin < group ? a.n : begin + group;
    const double first = a.advantages[RowOf(a.rows, 0)];
    double sum = 0, squares = 0;
    for (long long i = begin + lanes.index(); i < end; i += lanes.count()) {
      const double from_first = a.advantages[RowOf(a.rows, i)] - first;
      sum += from_first;
      squares += from_first * from_first;
    }
    sum = lanes.Sum(sum);
    squares = lanes.Sum(squares);
    if (lanes.index() != 0) return;
    partial[g] = sum;
    partial[groups + g] = squares;
  }
};

// One warp.
struct FinishMoments {
  MomentsArgs<float> a;
  int groups;
  const double* partial;

  template <class Lanes>
  HOST_DEVICE void operator()(long long, const Lanes& lanes) const {
    const double sum = lanes.Sum(StridedSum<double>(lanes.index(), groups, lanes.count(),
                                                    [this](long long j) { return partial[j]; }));
    const double squares = lanes.Sum(StridedSum<double>(
        lanes.index(), groups, lanes.count(), [this](long long j) { return partial[groups + j]; }));
    if (lanes.index() != 0) return;
    const double mean = sum / a.n, spread = squares - sum * mean;
    *a.moments = {a.advantages[RowOf(a.rows, 0)] + mean, DeviationOf(spread > 0 ? spread : 0, a.n)};
  }
};

template <class Device>
void AdvantageMoments(Work<Device>& work, const MomentsArgs<float>& args) {
  constexpr int kOfAWarp = 256, kWarps = 2048;
  const int group = std::max(kOfAWarp, (args.n + kWarps - 1) / kWarps);
  const int groups = (args.n + group - 1) / group;
  double* const partial = work.template Sums<double>(2ll * groups);
  work.device().ForEachWarp(groups, MomentSums{args, group, groups, partial});
  work.device().ForEachWarp(1, FinishMoments{args, groups, partial});
}

// Warp g handles the samples [g * group, (g + 1) * group) and writes the sums of their terms to
// partial (kTerms, groups).
struct LossOfSamples {
  LossArgs<float> a;
  int group, groups;
  double* partial;

  static constexpr int kTerms = 5;
  struct Terms {
    double policy = 0, value = 0, entropy = 0, kl = 0, clipped = 0;
  };

  template <class Lanes>
  HOST_DEVICE void operator()(long long g, const Lanes& lanes) const {
    const long long begin = g * group, end = a.n - begin < group ? a.n : begin + group;
    Terms sum;
    for (long long i = begin + lanes.index(); i < end; i += lanes.count()) Add(i, sum);
    const double terms[kTerms] = {lanes.Sum(sum.policy), lanes.Sum(sum.value),
                                  lanes.Sum(sum.entropy), lanes.Sum(sum.kl),
                                  lanes.Sum(sum.clipped)};
    if (lanes.index() != 0) return;
    for (int term = 0; term < kTerms; ++term) partial[1ll * term * groups + g] = terms[term];
  }

 private:
  HOST_DEVICE void Add(long long i, Terms& terms) const {
    // 1. The terms of the report.
    const long long row = RowOf(a.samples.rows, i);
    float* const d = a.dlogits + i * a.policy.outputs;
    const RowPolicy<float> pi(a.policy, a.logits + i * a.policy.outputs,
                              a.samples.taken + row * a.policy.width, d);
    const auto policy =
        PolicyTermOf(a.samples, row, pi.logp(), static_cast<float>(a.weights->clip));
    const auto value =
        ValueTermOf(a.samples, row, a.values[i], static_cast<float>(a.weights->value_clip));
    terms.policy += policy.loss;
    terms.value += value.loss;
    terms.entropy += pi.entropy();
    terms.kl += policy.kl;
    terms.clipped += policy.clipped;
    // 2. The gradient.
    const float each = static_cast<float>(a.weights->scale / a.n);
    pi.Gradient(each, policy.push, static_cast<float>(a.weights->entropy), d);
    a.dvalues[i] = each * static_cast<float>(2 * a.weights->value_coef) * value.error;
  }
};

// One warp for each of the means.
struct ReportLoss {
  int n, groups;
  const double* partial;
  LossReport* report;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const double* const from = partial + i * groups;
    const double sum = lanes.Sum(StridedSum<double>(lanes.index(), groups, lanes.count(),
                                                    [from](long long j) { return from[j]; }));
    if (lanes.index() != 0) return;
    double* const to = i == 0   ? &report->policy_loss
                       : i == 1 ? &report->value_loss
                       : i == 2 ? &report->entropy
                       : i == 3 ? &report->kl
                                : &report->clipped;
    *to = sum / n;
  }
};

template <class Device>
void Loss(Work<Device>& work, const LossArgs<float>& args) {
  // One sample for each lane, up to a number of warps whose sums would take longer.
  constexpr int kLanes = 32, kWarps = 4096, kTerms = LossOfSamples::kTerms;
  const int group = std::max(kLanes, (args.n + kWarps - 1) / kWarps);
  const int groups = (args.n + group - 1) / group;
  double* const partial = work.template Sums<double>(1ll * groups * kTerms);
  work.device().ForEachWarp(groups, LossOfSamples{args, group, groups, partial});
  work.device().ForEachWarp(kTerms, ReportLoss{args.n, groups, partial, args.report});
}

}  // namespace starling::net::cuda
