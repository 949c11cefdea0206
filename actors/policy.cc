#include "actors/policy.h"

#include "actors/model_spec.h"
#include "core/check.h"
#include "net/loss.h"

namespace starling::actors {

Policy::Policy(const Config& config, const envs::EnvSpec& env, std::span<const float> weights,
               int envs, std::uint64_t seed, bool greedy)
    : envs_(envs),
      greedy_(greedy),
      weights_(weights),
      backend_(net::MakeCpuBackend(Precision::kF32, config.actors.instructions)),
      model_(net::MakeModel<float>(ModelSpecOf(config, env), *backend_, {.envs = envs})),
      layout_(WithSums(model_->layout(), config, env)),
      normalizer_(config, env, layout_, *backend_, net::Batch{.envs = envs}) {
  CHECK(weights.size() == layout_.size(), "{} weights", weights.size());
  Seed(seed);
}

std::span<float> Policy::rows() {
  return normalizer_.rows().empty() ? model_->observations() : normalizer_.rows();
}

void Policy::Evaluate() {
  normalizer_.Standardize(weights_, {.envs = envs_}, model_->observations());
  model_->Forward(weights_.first(layout_.trained()), 0);
}

void Policy::Take(std::span<std::int32_t> actions) {
  if (greedy_) {
    net::GreedyActions(envs_, model_->policy(), model_->logits(), actions);
  } else {
    net::SampleActions<float>({.n = envs_,
                               .policy = model_->policy(),
                               .logits = model_->logits().data(),
                               .streams = streams_.data(),
                               .taken = actions.data()});
  }
  model_->Carry(0);
}

void Policy::Seed(std::uint64_t seed) {
  const envs::EnvSeed origin{seed, kPlayerSlot, 0};
  streams_.clear();
  for (std::size_t i = 0; i < static_cast<std::size_t>(envs_); ++i) {
    streams_.emplace_back(origin.Stream(i, Purpose::kEval));
  }
}

}  // namespace starling::actors
