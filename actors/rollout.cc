#include "actors/rollout.h"

#include <algorithm>
#include <utility>

#include "core/bfloat16.h"
#include "core/check.h"
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

constexpr std::size_t kMaxRecorded = 512;  // turns; more would make graphs of many thousand nodes

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

void Round(NumberType type, std::span<float> values) {
  if (type == NumberType::kBf16) RoundToBfloat16(values);
}

}  // namespace

Rollout::Rollout(const Config& config, std::uint32_t slot, std::uint32_t life,
                 std::function<void()> between_steps)
    : Rollout(config, slot, life, MakeReplica(config, slot), {}, std::move(between_steps)) {}

Rollout::Rollout(const Config& config, std::uint32_t slot, std::uint32_t life, Replica replica,
                 EnvGroups groups, std::function<void()> between_steps)
    : config_(config),
      unroll_(static_cast<int>(config.actors.unroll)),
      envs_(static_cast<int>(config.actors.envs_per_actor)),
      between_steps_(std::move(between_steps)),
      life_(life),
      replica_(std::move(replica)),
      groups_(!groups.empty()
                  ? std::move(groups)
                  : MakeEnvs(config, replica_, {config.run.seed, slot, life}, between_steps_)),
      model_(net::MakeModel<float>(ModelSpecOf(config, spec()), *replica_.backend,
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
  int first = 0;
  for (const auto& group : groups_) firsts_.push_back(std::exchange(first, first + group->size()));
  CHECK(first == envs_, "{} of {} envs", first, envs_);
  // The buffers are zeros; only the streams of actions need values before the first unroll.
  const envs::EnvSeed seed{config.run.seed, slot, life};
  std::size_t env_index = 0;
  for (RandomStream& stream : action_streams_.host.span()) {
    stream = RandomStream(seed.Stream(env_index++, Purpose::kAction));
  }
  Write<RandomStream>(memory_, action_streams_.span(), action_streams_.host.span());
}

net::Block Rollout::BlockOf(int t, int group) const {
  return {.step = t, .first = firsts_[Size(group)], .envs = groups_[Size(group)]->size()};
}

// The rows of `block` in an array (steps, B, width).
template <class T>
std::span<T> Rollout::Of(std::span<T> rows, const net::Block& block, std::size_t width) const {
  return rows.subspan(Size(block.step * envs_ + block.first) * width, Size(block.envs) * width);
}

std::span<float> Rollout::Rows(const net::Block& block) {
  return Of(model_->observations(), block, spec().row());
}

std::span<std::uint8_t> Rollout::Resets(const net::Block& block) {
  return Of(model_->resets(), block);
}

std::int64_t Rollout::WaitedNs() const {
  std::int64_t sum = 0;
  for (const auto& group : groups_) sum += group->waited_ns();
  return sum;
}

std::string Rollout::where() const {
  if (replica_.gpu == nullptr) return "";
  return ", on the " + replica_.gpu->info().name + (groups_[0]->on_gpu() ? ", games too" : "");
}

RolloutGradient Rollout::Run(double entropy, std::span<float> gradient,
                             const std::function<void()>& acted) {
  const net::HeldWeights held(*replica_.backend);
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs(), waited_before = WaitedNs();
  // 1. Act.
  Send(entropy);
  Unroll();
  memory_.Wait();
  const std::int64_t waited_ns = WaitedNs() - waited_before;
  const std::int64_t act_ns = clock.NowNs() - begin - waited_ns;
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
          .act_wait_us = static_cast<std::uint32_t>(waited_ns / 1000),
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
  Copy<float>(memory_, Rows(AllOf(0)), Rows(AllOf(unroll_)));
  Copy<std::uint8_t>(memory_, Resets(AllOf(0)), Resets(AllOf(unroll_)));
  model_->Carry(unroll_ - 1);
}

// The groups take turns: the net works on one while others are stepped. Turn t of a group takes the
// results of its step t - 1, acts, and begins step t; turn T ends with the values that bootstrap.
// The recordings are numbered: 0 is a whole unroll, then come the turns, then the gradient.
void Rollout::Unroll() {
  const int groups = static_cast<int>(groups_.size());
  for (int group = 0; fresh_ && group < groups; ++group) {
    groups_[Size(group)]->Reset(Rows(BlockOf(0, group)));
  }
  fresh_ = false;
  // 1. With games on the GPU, one recording holds all steps.
  if (groups_[0]->on_gpu()) {
    Repeat(0, [&] {
      for (int t = 0; t <= unroll_; ++t) {
        for (int group = 0; group < groups; ++group) {
          Observe(t, group);
          Act(t, group);
          Begin(t, group);
        }
      }
    });
    if (between_steps_) between_steps_();
    return;
  }
  // 2. Otherwise each step returns to the host.
  for (int t = 0; t <= unroll_; ++t) {
    for (int group = 0; group < groups; ++group) {
      Observe(t, group);
      Repeat(1 + t * groups + group, [&] { Act(t, group); });
      Begin(t, group);
    }
    if (t > 0 && between_steps_) between_steps_();
  }
}

// Begins step t of a group, with the actions of its turn t.
void Rollout::Begin(int t, int group) {
  if (t == unroll_) return;
  groups_[Size(group)]->StepAsync(Of(actions_.span(), BlockOf(t, group)));
}

// Waits for the step before turn t, and keeps its results.
void Rollout::Observe(int t, int group) {
  if (t == 0) return;
  envs::VecEnv& env = *groups_[Size(group)];
  const net::Block now = BlockOf(t, group), before = BlockOf(t - 1, group);
  const auto ends = Of(terminals_.span(), before);
  env.StepWait(Rows(now), Of(rewards_.span(), before), ends);
  Copy<std::uint8_t>(memory_, Resets(now), ends);
  if (!env.truncated().empty()) BootstrapTruncated(t - 1, group);
}

void Rollout::Act(int t, int group) {
  const net::Block block = BlockOf(t, group);
  model_->Forward(weights_.span(), block);
  if (t == unroll_) return;
  const int actions = model_->num_actions();
  replica_.backend->SampleActions(
      block.envs, actions, Of(model_->logits(), block, Size(actions)).data(),
      action_streams_.span().subspan(Size(block.first)).data(), Of(actions_.span(), block).data());
}

// A time limit ends an episode although the game could go on. The value of its final state is added
// to the last reward; then it is an end like any other (Pardo et al. 2018).
void Rollout::BootstrapTruncated(int t, int group) {
  const net::Block block = BlockOf(t, group);
  const net::Block spare = BlockOf(unroll_ + 1, group);  // rows that are no samples
  for (const envs::Truncated& end : groups_[Size(group)]->truncated()) {
    const std::size_t size = end.observation.size();
    Write<float>(memory_, Rows(spare).subspan(Size(end.env) * size, size), end.observation);
  }
  model_->Forward(weights_.span(), spare, t);
  replica_.backend->AddBootstrap({.n = block.envs,
                                  .gamma = config_.loss.gamma,
                                  .ends = Of(terminals_.span(), block).data(),
                                  .truncated = static_cast<std::uint8_t>(envs::End::kTruncated),
                                  .values = Of(model_->values(), spare).data(),
                                  .rewards = Of(rewards_.span(), block).data()});
}

void Rollout::Gradient(std::span<float> gradient) {
  net::Backend<float>& backend = *replica_.backend;
  const auto to = memory_.on_host() ? gradient : gradient_.span();
  Repeat(1 + (unroll_ + 1) * static_cast<int>(groups_.size()), [&, to] {
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
  if (Size(unroll_) * groups_.size() > kMaxRecorded) return ops();
  replica_.backend->Repeat(id, ops);
}

void Rollout::Fields(StateBytes& state) {
  state.Tag("roll");
  state.Same(static_cast<std::uint64_t>(envs_), "actors.envs_per_actor");
  state.Same(static_cast<std::uint64_t>(unroll_), "actors.unroll");
  state.Same(groups_.size(), "actors.groups");
  state.Same(spec().row(), "observed values");
  const auto carried = model_->carried();
  state.Same(carried.size(), "arrays of the net's memory");
  state(life_);
  state(fresh_);
  Exchange(state, action_streams_.span());
  Exchange(state, Rows(AllOf(0)));
  Exchange(state, Resets(AllOf(0)));
  for (const std::span<float> array : carried) {
    state.Same(array.size(), "numbers of the net's memory");
    Exchange(state, array);
  }
  for (const auto& group : groups_) group->Fields(state);
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
  std::uint64_t replaced = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::size_t before = episodes.ended.size();
    groups_[group]->TakeEpisodes(episodes.ended);
    for (auto& end : std::span(episodes.ended).subspan(before)) end.env += firsts_[group];
    replaced += groups_[group]->replaced();
  }
  episodes.cut = static_cast<std::uint32_t>(std::erase_if(
      episodes.ended, [](const auto& episode) { return episode.end == envs::End::kCut; }));
  episodes.replaced = static_cast<std::uint32_t>(replaced - std::exchange(replaced_, replaced));
  return episodes;
}

}  // namespace starling::actors
