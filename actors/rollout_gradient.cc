// The gradients of an unroll; declared in actors/rollout.h.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "actors/rollout.h"
#include "core/bfloat16.h"
#include "core/check.h"
#include "core/clock.h"

namespace starling::actors {
namespace {

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

std::uint32_t Us(std::int64_t ns) { return static_cast<std::uint32_t>(ns / 1000); }

}  // namespace

RolloutGradient Rollout::Gradient(std::uint64_t use, double entropy, std::span<float> gradient) {
  if (!flights_.empty()) {
    StartGradient(use, entropy);
    return FinishGradient(gradient);
  }
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  BeginGradient(use);
  loss_weights_.span()[0] = LossWeightsFor(entropy);
  ComputeGradient(use, gradient);
  held_.reset();
  Times times = std::exchange(played_times_, {});
  times.gradient = clock.NowNs() - begin;
  return Result(report_.span()[0], times, gradient);
}

void Rollout::StartGradient(std::uint64_t use, double entropy) {
  Flight& flight = NextFlight();
  flight.watch->Tick();
  BeginGradient(use);
  flight.loss_weights.span()[0] = LossWeightsFor(entropy);
  Write<net::LossWeights>(memory_, loss_weights_.span(), flight.loss_weights.span());
  ComputeGradient(use, gradient_.span());
  Read<Report>(memory_, flight.report.span(), report_.span());
  Read<float>(memory_, flight.gradient.span(), gradient_.span());
  flight.watch->Tick();
  held_.reset();
  ++started_;
}

RolloutGradient Rollout::FinishGradient(std::span<float> gradient) {
  CHECK(finished_ < started_, "no gradient was started");
  Flight& flight = flights_[finished_++ % flights_.size()];
  flight.watch->Wait();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  std::ranges::copy(flight.gradient.span(), gradient.begin());
  // The time of the GPU, and of the copy.
  const std::vector<std::int64_t> ns = flight.watch->TakeNs();
  Times times{.wait = std::exchange(flight.waited_ns, 0)};
  if (ns.size() > 1) times.act = std::max<std::int64_t>(ns.front() - times.wait, 0);
  times.gradient = ns.back() + clock.NowNs() - begin;
  return Result(flight.report.span()[0], times, gradient);
}

// Sends the weights, if this gradient has others than the unroll.
void Rollout::BeginGradient(std::uint64_t use) {
  CHECK(played_, "a gradient of no unroll");
  next_use_ = static_cast<std::int64_t>(use) + 1;
  if (!held_) held_.emplace(*replica_.backend);
  if (recomputes()) SendWeights();
}

net::LossWeights Rollout::LossWeightsFor(double entropy) const {
  const LossConfig& loss = config_.loss;
  return {.value_coef = loss.value_coef,
          .entropy = entropy,
          .scale = loss.reduction == LossReduction::kSum ? unroll_ : 1.0,
          .clip = loss.clip,
          .value_clip = loss.value_clip};
}

RolloutGradient Rollout::Result(const Report& report, const Times& times,
                                std::span<float> gradient) const {
  if (config_.wire.gradient == NumberType::kBf16) RoundToBfloat16(gradient);
  return {.values = gradient,
          .norm = report.norm,
          .loss = report.loss,
          .samples = static_cast<std::uint32_t>(Samples()),
          .act_us = Us(times.act),
          .act_wait_us = Us(times.wait),
          .gradient_us = Us(times.gradient)};
}

// From the values of acting and of the states behind the last step.
void Rollout::Advantages() {
  const float* const values = model_->values().data();
  replica_.backend->Advantages({.shape = {.steps = unroll_,
                                          .envs = envs_,
                                          .gamma = config_.loss.gamma,
                                          .lambda = config_.loss.gae_lambda},
                                .rewards = rewards_.data(),
                                .terminals = Ends(AllOf(0)).data(),  // of all steps
                                .values = values,
                                .bootstrap = values + unroll_ * envs_,
                                .advantages = advantages_.data(),
                                .returns = returns_.data()});
}

PlayedUnroll Rollout::Played() {
  const std::size_t all = rewards_.size();
  return {.observations = model_->observations().first(all * spec().row()),
          .resets = model_->resets().first(all),
          .carried = model_->carried(),
          .logits = model_->logits().first(all * Size(model_->outputs())),
          .values = model_->values().first(all),
          .taken = actions_.span(),
          .advantages = advantages_.span(),
          .returns = returns_.span()};
}

void Rollout::ComputeGradient(std::uint64_t use, std::span<float> to) {
  net::Backend<float>& backend = *replica_.backend;
  const PlayedUnroll played = Played();
  // 1. The samples of this gradient.
  if (minibatches_) {
    minibatches_->Choose(use);
    if (minibatches_->NeedsProximal(use)) {
      Repeat(NumberOf(Recording::kProximal),
             [&] { minibatches_->ForwardProximal(NetWeights(), played); });
    }
  }
  Repeat(NumberOf(Recording::kGradient), [&, to] {
    minibatches_ ? minibatches_->Forward(NetWeights(), played) : Advantages();
    net::Model<float>& model = minibatches_ ? minibatches_->model() : *model_;
    net::Samples<float> samples{
        .taken = actions_.data(), .advantages = advantages_.data(), .returns = returns_.data()};
    if (minibatches_) samples = minibatches_->Samples(played);
    Report& report = *report_.span().data();
    // 2. The loss, and its gradient by logits and values.
    if (config_.loss.normalize_advantage) {
      backend.AdvantageMoments({.n = Samples(),
                                .rows = samples.rows,
                                .advantages = samples.advantages,
                                .moments = moments_.data()});
      samples.moments = moments_.data();
    }
    backend.Loss({.n = Samples(),
                  .policy = model.policy(),
                  .logits = model.logits().data(),
                  .values = model.values().data(),
                  .samples = samples,
                  .weights = loss_weights_.span().data(),
                  .dlogits = dlogits_.data(),
                  .dvalues = dvalues_.data(),
                  .report = &report.loss});
    // 3. The backward pass over these samples, then clipping.
    const int steps = minibatches_ ? minibatches_->model_steps() : unroll_;
    const auto trained = to.first(layout_.trained());
    model.Backward(NetWeights(), steps, dlogits_.span(), dvalues_.span(), trained);
    backend.ClipByGlobalNorm(trained.size(), config_.optimizer.clip_norm, to.data(), &report.norm);
  });
  // 4. The sums of the unroll, with each: the learner adds those of the first that it accepts.
  if (layout_.trained() == layout_.size()) return;
  if (use == 0) {
    Repeat(NumberOf(Recording::kSums), [&] { normalizer_.Sum(unroll_, Samples(), sums_.span()); });
  }
  Copy<float>(memory_, to.subspan(layout_.trained()), sums_.span());
}

}  // namespace starling::actors
