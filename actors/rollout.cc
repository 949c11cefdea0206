#include "actors/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/staged_net.h"
#include "core/array_fields.h"
#include "core/bfloat16.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/instructions.h"

namespace starling::actors {

net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env) {
  return {.kind = config.net.kind,
          .hidden = config.net.hidden,
          .height = env.height,
          .width = env.width,
          .channels = env.channels,
          .actions = env.actions,
          .layers = config.net.layers,
          .critic = config.net.critic,
          .deviation = config.net.deviation,
          .entries = env.entries,
          .entry_layers = config.net.entries};
}

namespace {

constexpr std::size_t kMaxRecorded = 512;  // turns; more would make graphs of many thousand nodes

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

void Round(NumberType type, std::span<float> values) {
  if (type == NumberType::kBf16) RoundToBfloat16(values);
}

std::unique_ptr<net::Model<float>> MakeNet(const Config& config, const Replica& replica,
                                           const EnvGroups& groups, const net::Batch& batch) {
  const net::ModelSpec spec = ModelSpecOf(config, groups[0]->spec());
  const auto stages = static_cast<int>(config.net.stages);
  if (stages == 1) return net::MakeModel<float>(spec, *replica.backend, batch);
  std::vector<net::Block> blocks;
  int first = 0;
  for (const auto& group : groups) {
    blocks.push_back({.first = first, .envs = group->size()});
    first += group->size();
  }
  return std::make_unique<StagedNet>(spec, stages, replica, batch, std::move(blocks));
}

std::unique_ptr<Minibatches> MakeMinibatches(const Config& config, const envs::EnvSpec& env,
                                             net::Backend<float>& backend,
                                             const envs::EnvSeed& seed) {
  if (!config.reuses_data()) return nullptr;
  return std::make_unique<Minibatches>(config, ModelSpecOf(config, env), backend,
                                       seed.Stream(0, Purpose::kShuffle));
}

// What to do during waits, if there is something to do between steps.
envs::WhileWaiting WhileWaitingFor(const std::function<void()>& between_steps) {
  if (!between_steps) return {};
  return [between_steps](std::int64_t) { between_steps(); };
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
      staged_(config.net.stages > 1),
      between_steps_(std::move(between_steps)),
      life_(life),
      replica_(std::move(replica)),
      groups_(!groups.empty() ? std::move(groups)
                              : MakeEnvs(config, replica_, {config.run.seed, slot, life},
                                         WhileWaitingFor(between_steps_))),
      model_(MakeNet(config, replica_, groups_, {.envs = envs_, .steps = unroll_ + 2})),
      layout_(WithSums(model_->layout(), config, spec())),
      normalizer_(config, spec(), layout_, *replica_.backend,
                  {.envs = envs_, .steps = unroll_ + 2}),
      minibatches_(
          MakeMinibatches(config, spec(), *replica_.backend, {config.run.seed, slot, life})),
      memory_(replica_.backend->memory()),
      watch_(replica_.gpu != nullptr && !staged_ ? replica_.gpu->MakeWatch() : nullptr),
      weights_(layout_.size(), memory_),
      loss_weights_(1, memory_),
      action_streams_(Size(envs_), memory_),
      actions_(Size(unroll_ * envs_) * Size(spec().actions.width()), memory_),
      rewards_(Size(unroll_ * envs_), memory_),
      advantages_(rewards_.size(), memory_),
      returns_(rewards_.size(), memory_),
      dlogits_(Size(Samples()) * Size(model_->outputs()), memory_),
      dvalues_(Size(Samples()), memory_),
      moments_(1, memory_),
      report_(1, memory_),
      sums_(layout_.size() - layout_.trained(), memory_),
      gradient_(memory_.on_host() ? 0 : layout_.size(), memory_) {
  int first = 0;
  for (const auto& group : groups_) firsts_.push_back(std::exchange(first, first + group->size()));
  CHECK(first == envs_, "{} of {} envs", first, envs_);
  replica_.backend->OnProgress(between_steps_);
  // The buffers are zeros; only the streams of actions need values before the first unroll.
  const envs::EnvSeed seed{config.run.seed, slot, life};
  std::size_t env_index = 0;
  for (RandomStream& stream : action_streams_.host.span()) {
    stream = RandomStream(seed.Stream(env_index++, Purpose::kAction));
  }
  Write<RandomStream>(memory_, action_streams_.span(), action_streams_.host.span());
}

// After an exception the stages of a net may still read the weights and the other arrays.
Rollout::~Rollout() { model_.reset(); }

net::Block Rollout::BlockOf(int t, int group) const {
  return {.step = t, .first = firsts_[Size(group)], .envs = groups_[Size(group)]->size()};
}

std::span<float> Rollout::Rows(const net::Block& block) {
  const std::span<float> rows = normalizer_.rows();
  return Of(rows.empty() ? model_->observations() : rows, block, spec().row());
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
  std::string where = staged_ ? fmt::format(", in {} stages", config_.net.stages) : "";
  const Instructions instructions = InstructionsFor(config_.actors.instructions);
  if (replica_.gpu != nullptr) {
    where += ", on the " + replica_.gpu->info().name;
  } else if (instructions != Instructions::kNative) {
    where += fmt::format(", with {}", NameOf(instructions));
  }
  if (groups_[0]->on_gpu()) where += ", games too";
  return where;
}

std::vector<std::int64_t> Rollout::stage_busy_ns() const {
  const auto* const net = dynamic_cast<const StagedNet*>(model_.get());
  return net == nullptr ? std::vector<std::int64_t>() : net->busy_ns();
}

void Rollout::Act() {
  Carry();
  held_.emplace(*replica_.backend);
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs(), waited_before = WaitedNs();
  if (watch_) watch_->Tick();
  SendWeights();
  Unroll();
  played_ = true;
  next_use_ = 0;
  if (minibatches_) {
    Repeat(NumberOf(Recording::kKeep), [&] {
      Advantages();
      minibatches_->Keep(Played());
    });
  }
  if (watch_) watch_->Tick();
  // On a GPU the gradient follows at once, unless other weights come first.
  if (!watch_ || recomputes()) memory_.Wait();
  if (recomputes()) held_.reset();
  waited_ns_ = WaitedNs() - waited_before;
  act_ns_ = clock.NowNs() - begin - waited_ns_;
}

RolloutGradient Rollout::Gradient(std::uint64_t use, double entropy, std::span<float> gradient) {
  CHECK(played_, "a gradient of no unroll");
  next_use_ = static_cast<std::int64_t>(use) + 1;
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  // 1. The weights of its time, if they are others, and those of the loss.
  if (!held_) held_.emplace(*replica_.backend);
  if (recomputes()) SendWeights();
  const LossConfig& loss = config_.loss;
  loss_weights_.host.span()[0] = {.value_coef = loss.value_coef,
                                  .entropy = entropy,
                                  .scale = loss.reduction == LossReduction::kSum ? unroll_ : 1.0,
                                  .clip = loss.clip,
                                  .value_clip = loss.value_clip};
  Write<net::LossWeights>(memory_, loss_weights_.span(), loss_weights_.host.span());
  // 2. The gradient.
  ComputeGradient(use, memory_.on_host() ? gradient : gradient_.span());
  Fetch(gradient);
  held_.reset();

  // 3. Their times. That of acting is the GPU's own, if it was not waited for.
  std::int64_t act_ns = std::exchange(act_ns_, 0), gradient_ns = clock.NowNs() - begin;
  const std::int64_t waited_ns = std::exchange(waited_ns_, 0);
  if (watch_) {
    const std::int64_t both_ns = act_ns + gradient_ns;
    act_ns = std::clamp<std::int64_t>(watch_->TakeNs() - waited_ns, 0, both_ns);
    gradient_ns = both_ns - act_ns;
  }
  const Report& report = report_.host.span()[0];
  return {.values = gradient,
          .norm = report.norm,
          .loss = report.loss,
          .samples = static_cast<std::uint32_t>(Samples()),
          .act_us = static_cast<std::uint32_t>(act_ns / 1000),
          .act_wait_us = static_cast<std::uint32_t>(waited_ns / 1000),
          .gradient_us = static_cast<std::uint32_t>(gradient_ns / 1000)};
}

void Rollout::SendWeights() {
  Round(config_.wire.weights, weights_.host.span());
  Write<float>(memory_, weights_.span(), weights_.host.span());
  model_->TakeWeights(weights_.host.span().first(layout_.trained()));
}

// An unroll begins with the last observation of the one before and the net's memory of that time.
// They are moved only when it begins, because the gradients of the one before need its own
// beginning.
void Rollout::Carry() {
  if (!std::exchange(played_, false)) return;
  Copy<float>(memory_, Rows(AllOf(0)), Rows(AllOf(unroll_)));
  Copy<std::uint8_t>(memory_, Resets(AllOf(0)), Resets(AllOf(unroll_)));
  normalizer_.Carry(unroll_);
  model_->Carry(unroll_ - 1);
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

void Rollout::Fetch(std::span<float> gradient) {
  Read<Report>(memory_, report_.host.span(), report_.span());
  Read<float>(memory_, gradient_.host.span(), gradient_.span());
  memory_.Wait();
  std::ranges::copy(gradient_.host.span(), gradient.begin());  // empty if written directly
  Round(config_.wire.gradient, gradient);
}

void Rollout::Repeat(int id, const std::function<void()>& ops) {
  if (staged_ || Size(unroll_) * groups_.size() > kMaxRecorded) return ops();
  replica_.backend->Repeat(id, ops);
}

void Rollout::Fields(StateBytes& state) {
  state.Tag("roll");
  state.Same(static_cast<std::uint64_t>(envs_), "actors.envs_per_actor");
  state.Same(static_cast<std::uint64_t>(unroll_), "actors.unroll");
  state.Same(groups_.size(), "actors.groups");
  if (minibatches_) state.Same(Size(minibatches_->count()), "updates.minibatches");
  state.Same(spec().row(), "observed values");
  state.Same(static_cast<std::uint64_t>(model_->carried().size()), "arrays of the net's memory");
  state(life_);
  state(fresh_);
  ArrayFields(state, memory_, action_streams_.span());
  ArrayFields(state, memory_, Rows(AllOf(0)));
  ArrayFields(state, memory_, Resets(AllOf(0)));
  model_->CarriedFields(state);
  normalizer_.Fields(state);
  if (minibatches_) minibatches_->Fields(state);
  for (const auto& group : groups_) group->Fields(state);
}

RolloutEpisodes Rollout::TakeEpisodes() {
  RolloutEpisodes episodes;
  std::uint64_t replaced = 0, untold = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::size_t before = episodes.ended.size();
    groups_[group]->TakeEpisodes(episodes.ended);
    for (auto& end : std::span(episodes.ended).subspan(before)) end.env += firsts_[group];
    replaced += groups_[group]->replaced();
    untold += groups_[group]->untold();
  }
  episodes.cut = static_cast<std::uint32_t>(std::erase_if(
      episodes.ended, [](const auto& episode) { return episode.end == envs::End::kCut; }));
  episodes.replaced = static_cast<std::uint32_t>(replaced - std::exchange(replaced_, replaced));
  const std::size_t told = std::min<std::size_t>(episodes.ended.size(), envs::kKeptEpisodes);
  episodes.untold = untold - std::exchange(untold_, untold) + (episodes.ended.size() - told);
  episodes.ended.erase(episodes.ended.begin(), episodes.ended.end() - std::ptrdiff_t(told));
  return episodes;
}

}  // namespace starling::actors
