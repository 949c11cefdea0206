#include "actors/rollout.h"

#include <algorithm>
#include <utility>

#include "core/bfloat16.h"
#include "core/clock.h"

namespace starling::actors {

net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env) {
  return {.kind = config.net.kind,
          .hidden = config.net.hidden,
          .height = env.height,
          .width = env.width,
          .channels = env.channels,
          .num_actions = env.num_actions,
          .layers = config.net.layers};
}

namespace {

constexpr int kMaxRecorded = 512;  // steps; more would make graphs of many thousand nodes

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

void Round(NumberType type, std::span<float> values) {
  if (type == NumberType::kBf16) RoundToBfloat16(values);
}

}  // namespace

Rollout::Rollout(const Config& config, std::uint32_t slot, std::uint32_t life,
                 std::function<void()> between_steps)
    : Rollout(config, slot, life, MakeReplica(config, slot), nullptr, std::move(between_steps)) {}

Rollout::Rollout(const Config& config, std::uint32_t slot, std::uint32_t life, Replica replica,
                 std::unique_ptr<envs::VecEnv> env, std::function<void()> between_steps)
    : config_(config),
      unroll_(static_cast<int>(config.actors.unroll)),
      envs_(static_cast<int>(config.actors.envs_per_actor)),
      between_steps_(std::move(between_steps)),
      life_(life),
      replica_(std::move(replica)),
      env_(env != nullptr
               ? std::move(env)
               : MakeEnv(config, replica_, {config.run.seed, slot, life}, between_steps_)),
      model_(net::MakeModel<float>(ModelSpecOf(config, env_->spec()), *replica_.backend,
                                   {.envs = envs_, .steps = unroll_ + 2})),
      memory_(replica_.backend->memory()),
      weights_(model_->layout().size(), memory_),
      loss_weights_(1, memory_),
      action_streams_(Size(envs_), memory_),
      actions_(Size(unroll_ * envs_), memory_),
      rewards_(actions_.size(), memory_),
      advantages_(actions_.size(), memory_),
      returns_(actions_.size(), memory_),
      dvalues_(actions_.size(), memory_),
      terminals_(actions_.size(), memory_),
      dlogits_(actions_.size() * Size(model_->num_actions()), memory_),
      report_(1, memory_),
      gradient_(memory_.on_host() ? 0 : model_->layout().size(), memory_) {
  // The buffers are zeros; only the streams of actions need values before the first unroll.
  const envs::EnvSeed seed{config.run.seed, slot, life};
  std::size_t env_index = 0;
  for (RandomStream& stream : action_streams_.host.span()) {
    stream = RandomStream(seed.Stream(env_index++, Purpose::kAction));
  }
  Write<RandomStream>(memory_, action_streams_.span(), action_streams_.host.span());
}

std::span<float> Rollout::Rows(int t) {
  const std::size_t size = Size(envs_) * env_->spec().row();
  return model_->observations().subspan(Size(t) * size, size);
}

std::span<std::uint8_t> Rollout::Resets(int t) {
  return model_->resets().subspan(Size(t) * Size(envs_), Size(envs_));
}

template <class T>
std::span<T> Rollout::Step(Buffer<T>& rows, int t) {
  return rows.span().subspan(Size(t) * Size(envs_), Size(envs_));
}

std::string Rollout::where() const {
  if (replica_.gpu == nullptr) return "";
  return ", on the " + replica_.gpu->info().name + (env_->on_gpu() ? ", games too" : "");
}

RolloutGradient Rollout::Run(double entropy, std::span<float> gradient,
                             const std::function<void()>& acted) {
  const net::HeldWeights held(*replica_.backend);
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  // 1. Act.
  Send(entropy);
  if (std::exchange(fresh_, false)) env_->Reset(Rows(0));
  Unroll();
  memory_.Wait();
  const std::int64_t act_ns = clock.NowNs() - begin;
  if (acted) acted();
  // 2. Compute the gradient of those steps.
  const std::int64_t middle = clock.NowNs();
  Gradient(gradient);
  Fetch(gradient);
  Carry();

  const Report& report = report_.host.span()[0];
  return {.values = gradient,
          .norm = report.norm,
          .loss = report.loss,
          .samples = static_cast<std::uint32_t>(unroll_ * envs_),
          .act_us = static_cast<std::uint32_t>(act_ns / 1000),
          .gradient_us = static_cast<std::uint32_t>((clock.NowNs() - middle) / 1000)};
}

void Rollout::Send(double entropy) {
  loss_weights_.host.span()[0] = {
      .value_coef = config_.loss.value_coef,
      .entropy = entropy,
      .scale = config_.loss.reduction == LossReduction::kSum ? unroll_ : 1.0};
  Round(config_.wire.weights, weights_.host.span());
  Write<float>(memory_, weights_.span(), weights_.host.span());
  Write<net::LossWeights>(memory_, loss_weights_.span(), loss_weights_.host.span());
}

// The next unroll begins with the last observation of this one and the net's memory of that time.
void Rollout::Carry() {
  Copy<float>(memory_, Rows(0), Rows(unroll_));
  Copy<std::uint8_t>(memory_, Resets(0), Resets(unroll_));
  model_->Carry(unroll_ - 1);
}

// Recordings have ids: 0 to unroll_ - 1 are single steps, `whole` is all of them, `bootstrap`
// values the last observations; the gradient has the next one.
void Rollout::Unroll() {
  const int whole = unroll_, bootstrap = unroll_ + 1;
  const auto value_the_last = [this] { model_->Forward(weights_.span(), unroll_); };
  // 1. With games on the GPU, one recording holds all steps.
  if (env_->on_gpu()) {
    Repeat(whole, [&] {
      for (int t = 0; t < unroll_; ++t) {
        Act(t);
        StepEnvs(t);
      }
      value_the_last();
    });
    if (between_steps_) between_steps_();
    return;
  }
  // 2. Otherwise each step returns to the host.
  for (int t = 0; t < unroll_; ++t) {
    Repeat(t, [this, t] { Act(t); });
    StepEnvs(t);
    if (!env_->truncated().empty()) BootstrapTruncated(t);
    if (between_steps_) between_steps_();
  }
  Repeat(bootstrap, value_the_last);
}

void Rollout::Act(int t) {
  model_->Forward(weights_.span(), t);
  const int actions = model_->num_actions();
  replica_.backend->SampleActions(envs_, actions,
                                  model_->logits().data() + Size(t * envs_) * Size(actions),
                                  action_streams_.span().data(), Step(actions_, t).data());
}

void Rollout::StepEnvs(int t) {
  env_->Step(Step(actions_, t), Rows(t + 1), Step(rewards_, t), Step(terminals_, t));
  Copy<std::uint8_t>(memory_, Resets(t + 1), Step(terminals_, t));
}

// A time limit ends an episode although the game could go on. The value of its final state is added
// to the last reward; then it is an end like any other (Pardo et al. 2018).
void Rollout::BootstrapTruncated(int t) {
  const int spare = unroll_ + 1;  // a row block that is not a sample
  for (const envs::Truncated& end : env_->truncated()) {
    const std::size_t size = end.observation.size();
    Write<float>(memory_, Rows(spare).subspan(Size(end.env) * size, size), end.observation);
  }
  model_->Forward(weights_.span(), spare, t);
  replica_.backend->AddBootstrap({.n = envs_,
                                  .gamma = config_.loss.gamma,
                                  .ends = Step(terminals_, t).data(),
                                  .truncated = static_cast<std::uint8_t>(envs::End::kTruncated),
                                  .values = model_->values().data() + Size(spare) * Size(envs_),
                                  .rewards = Step(rewards_, t).data()});
}

void Rollout::Gradient(std::span<float> gradient) {
  net::Backend<float>& backend = *replica_.backend;
  const auto to = memory_.on_host() ? gradient : gradient_.span();
  Repeat(unroll_ + 2, [&, to] {
    const int n = unroll_ * envs_, actions = model_->num_actions();
    const float *const logits = model_->logits().data(), *const values = model_->values().data();
    Report& report = *report_.span().data();
    // 1. Advantages, from the values of acting and of the states behind the last step.
    backend.Advantages({.shape = {.steps = unroll_,
                                  .envs = envs_,
                                  .gamma = config_.loss.gamma,
                                  .lambda = config_.loss.gae_lambda},
                        .rewards = rewards_.data(),
                        .terminals = terminals_.data(),
                        .values = values,
                        .bootstrap = values + n,
                        .advantages = advantages_.data(),
                        .returns = returns_.data()});
    // 2. The loss, and its gradient by logits and values.
    backend.Loss({.n = n,
                  .actions = actions,
                  .logits = logits,
                  .values = values,
                  .taken = actions_.data(),
                  .advantages = advantages_.data(),
                  .returns = returns_.data(),
                  .weights = loss_weights_.span().data(),
                  .dlogits = dlogits_.data(),
                  .dvalues = dvalues_.data(),
                  .report = &report.loss});
    // 3. The backward pass over all T * B samples, then clipping.
    model_->Backward(weights_.span(), unroll_, dlogits_.span(), dvalues_.span(), to);
    backend.ClipByGlobalNorm(to.size(), config_.optimizer.clip_norm, to.data(), &report.norm);
  });
}

void Rollout::Fetch(std::span<float> gradient) {
  Read<Report>(memory_, report_.host.span(), report_.span());
  Read<float>(memory_, gradient_.host.span(), gradient_.span());
  memory_.Wait();
  std::ranges::copy(gradient_.host.span(), gradient.begin());  // empty if written directly
  Round(config_.wire.gradient, gradient);
}

void Rollout::Repeat(int id, const std::function<void()>& ops) {
  if (unroll_ > kMaxRecorded) return ops();
  replica_.backend->Repeat(id, ops);
}

void Rollout::Fields(StateBytes& state) {
  state.Tag("roll");
  state.Same(static_cast<std::uint64_t>(envs_), "actors.envs_per_actor");
  state.Same(static_cast<std::uint64_t>(unroll_), "actors.unroll");
  state.Same(env_->spec().row(), "observed values");
  const auto carried = model_->carried();
  state.Same(carried.size(), "arrays of the net's memory");
  state(life_);
  state(fresh_);
  Exchange(state, action_streams_.span());
  Exchange(state, Rows(0));
  Exchange(state, Resets(0));
  for (const std::span<float> array : carried) {
    state.Same(array.size(), "numbers of the net's memory");
    Exchange(state, array);
  }
  env_->Fields(state);
}

// The fields of an array in the replica's memory.
template <class T>
void Rollout::Exchange(StateBytes& state, std::span<T> there) {
  Buffer<T> here(there.size(), memory_.host_side());
  Read<T>(memory_, here.span(), there);
  memory_.Wait();
  if constexpr (std::is_arithmetic_v<T>) {
    state.Array(here.span());
  } else {
    for (T& value : here.span()) state(value);
  }
  if (!state.reading()) return;
  Write<T>(memory_, there, here.span());
  memory_.Wait();
}

RolloutEpisodes Rollout::TakeEpisodes() {
  RolloutEpisodes episodes;
  env_->TakeEpisodes(episodes.ended);
  episodes.cut = static_cast<std::uint32_t>(std::erase_if(
      episodes.ended, [](const auto& episode) { return episode.end == envs::End::kCut; }));
  const std::uint64_t before = std::exchange(replaced_, env_->replaced());
  episodes.replaced = static_cast<std::uint32_t>(replaced_ - before);
  return episodes;
}

}  // namespace starling::actors
