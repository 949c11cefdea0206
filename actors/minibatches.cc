#include "actors/minibatches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace starling::actors {
namespace {

std::size_t Elements(int count, int width = 1) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(width);
}

net::Batch BatchOf(bool recurrent, int steps, int samples) {
  return recurrent ? net::Batch{.envs = samples / steps, .steps = steps}
                   : net::Batch{.envs = samples, .steps = 1};
}

}  // namespace

Minibatches::Minibatches(const Config& config, const net::ModelSpec& spec,
                         net::Backend<float>& backend, const StreamId& shuffles)
    : backend_(backend),
      memory_(backend.memory()),
      steps_(static_cast<int>(config.actors.unroll)),
      all_envs_(static_cast<int>(config.actors.envs_per_actor)),
      count_(static_cast<int>(config.updates.minibatches)),
      samples_(all_envs_ * steps_ / count_),
      by_sample_(config.updates.shuffle == Shuffle::kSamples),
      ppo_(config.loss.kind == LossKind::kPpo),
      decoupled_(ppo_ && config.loss.proximal == Proximal::kGrant),
      model_(net::MakeModel<float>(spec, backend, BatchOf(net::HasMemory(spec), steps_, samples_))),
      recurrent_(net::HasMemory(spec)),
      shuffles_(shuffles),
      order_host_(Elements(all_envs_), memory_.host_side()),
      order_(Elements(all_envs_), memory_),
      rows_host_(Elements(all_envs_, steps_), memory_.host_side()),
      all_rows_(rows_host_.size(), memory_),
      rows_(Elements(samples_), memory_),
      envs_chosen_(recurrent_ ? Elements(samples_ / steps_) : 0, memory_),
      old_logps_(ppo_ ? rows_host_.size() : 0, memory_),
      proximal_logps_(decoupled_ ? rows_host_.size() : 0, memory_) {
  CHECK(config.shuffled_units() % count_ == 0, "{} minibatches of {}", count_,
        config.shuffled_units());
  CHECK(!(by_sample_ && recurrent_), "a memory goes through an unroll in order");
}

void Minibatches::Keep(const PlayedUnroll& unroll) {
  if (!ppo_) return;
  backend_.LogProbs({.n = steps_ * all_envs_,
                     .policy = model_->policy(),
                     .logits = unroll.logits.data(),
                     .taken = unroll.taken.data(),
                     .logps = old_logps_.data()});
}

void Minibatches::Choose(std::uint64_t use) {
  const auto count = static_cast<std::uint64_t>(count_);
  if (use % count == 0) Shuffle();
  Take(static_cast<int>(use % count));
}

void Minibatches::Shuffle() {
  const auto order = order_host_.span(), rows = rows_host_.span();
  if (by_sample_) {
    Deal(rows);
  } else {
    Deal(order);
    const int envs = all_envs_ / count_;
    std::size_t row = 0;
    for (int m = 0; m < count_; ++m) {
      for (int t = 0; t < steps_; ++t) {
        for (int e = 0; e < envs; ++e) {
          rows[row++] = t * all_envs_ + order[Elements(m * envs + e)];
        }
      }
    }
    Write<std::int32_t>(memory_, order_.span(), order);
  }
  Write<std::int32_t>(memory_, all_rows_.span(), rows);
}

// Shuffles 0, 1, 2 ... (Fisher and Yates); one minibatch keeps their order.
void Minibatches::Deal(std::span<std::int32_t> order) {
  std::iota(order.begin(), order.end(), 0);  // a division depends on the stream alone
  for (std::size_t i = order.size() - 1; i > 0 && count_ > 1; --i) {
    std::swap(order[i], order[shuffles_.Below(static_cast<std::uint32_t>(i) + 1)]);
  }
}

void Minibatches::Take(int minibatch) {
  const auto at = static_cast<std::size_t>(minibatch);
  Copy<std::int32_t>(memory_, rows_.span(),
                     all_rows_.span().subspan(at * rows_.size(), rows_.size()));
  if (!recurrent_) return;
  Copy<std::int32_t>(memory_, envs_chosen_.span(),
                     order_.span().subspan(at * envs_chosen_.size(), envs_chosen_.size()));
}

void Minibatches::Forward(std::span<const float> weights, const PlayedUnroll& unroll) {
  const int n = samples();
  const auto row = static_cast<int>(unroll.observations.size() / Elements(steps_, all_envs_));
  backend_.Gather(n, row, rows_.data(), unroll.observations.data(), model_->observations().data());
  if (!recurrent_) return model_->Forward(weights, 0);
  // With a memory: from the state of these environments before the unroll, step by step.
  backend_.Gather(n, 1, rows_.data(), unroll.resets.data(), model_->resets().data());
  const int envs = all_envs_ / count_;
  const auto carried = model_->carried();
  for (std::size_t i = 0; i < carried.size(); ++i) {
    backend_.Gather(envs, static_cast<int>(carried[i].size()) / envs, envs_chosen_.data(),
                    unroll.carried[i].data(), carried[i].data());
  }
  for (int t = 0; t < steps_; ++t) {
    model_->Forward(weights, t);
    backend_.Progress();
  }
}

void Minibatches::ForwardProximal(std::span<const float> weights, const PlayedUnroll& unroll) {
  for (int m = 0; m < count_; ++m) {
    Take(m);
    Forward(weights, unroll);
    backend_.Progress();
    backend_.LogProbs({.n = samples(),
                       .policy = model_->policy(),
                       .logits = model_->logits().data(),
                       .rows = rows_.data(),
                       .taken = unroll.taken.data(),
                       .logps = proximal_logps_.data()});
  }
  Take(0);
}

net::Samples<float> Minibatches::Samples(const PlayedUnroll& unroll) const {
  return {.rows = rows_.data(),
          .taken = unroll.taken.data(),
          .advantages = unroll.advantages.data(),
          .returns = unroll.returns.data(),
          .old_logps = ppo_ ? old_logps_.data() : nullptr,
          .proximal_logps = decoupled_ ? proximal_logps_.data()
                            : ppo_     ? old_logps_.data()
                                       : nullptr,
          .old_values = ppo_ ? unroll.values.data() : nullptr};
}

}  // namespace starling::actors
