#include "actors/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/model_spec.h"
#include "actors/staged_net.h"
#include "core/array_fields.h"
#include "core/bfloat16.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/instructions.h"

namespace starling::actors {

namespace {

constexpr std::size_t kMaxRecorded = 512;  // turns; more would make graphs of many thousand nodes

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

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
  // 1. The groups.
  untold_.resize(groups_.size());
  int first = 0;
  for (const auto& group : groups_) firsts_.push_back(std::exchange(first, first + group->size()));
  CHECK(first == envs_, "{} of {} envs", first, envs_);
  replica_.backend->OnProgress(between_steps_);
  // 2. The buffers are zeros; only the streams of actions need values before the first unroll.
  const envs::EnvSeed seed{config.run.seed, slot, life};
  std::size_t env_index = 0;
  for (RandomStream& stream : action_streams_.host.span()) {
    stream = RandomStream(seed.Stream(env_index++, Purpose::kAction));
  }
  Write<RandomStream>(memory_, action_streams_.span(), action_streams_.host.span());
  // 3. What crosses between host and GPU.
  CHECK(memory_.on_host() == (replica_.gpu == nullptr), "a backend and the GPU of another");
  for (int i = 0; i < envs::kMaxUnderWay && replica_.gpu != nullptr; ++i) {
    flights_.emplace_back(*replica_.gpu, layout_.size());
  }
}

// After an exception the stages of a net, or the GPU, may still use the arrays.
Rollout::~Rollout() {
  model_.reset();
  try {
    memory_.Wait();
  } catch (const std::exception&) {  // it works no more
  }
}

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

Rollout::Flight::Flight(Gpu& gpu, std::size_t floats)
    : weights(floats, gpu.memory().host_side()),
      gradient(floats, gpu.memory().host_side()),
      loss_weights(1, gpu.memory().host_side()),
      report(1, gpu.memory().host_side()),
      watch(gpu.MakeWatch()) {}

bool Rollout::runs_ahead() const {
  return !flights_.empty() && groups_[0]->on_gpu() && !staged_ && !recomputes();
}

void Rollout::Act() {
  CHECK(flights_.empty() || started_ - finished_ < flights_.size(), "{} gradients are under way",
        flights_.size());
  // 1. The weights, then the unroll.
  Carry();
  held_.emplace(*replica_.backend);
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs(), waited_before = WaitedNs();
  if (!flights_.empty()) NextFlight().watch->Tick();
  SendWeights();
  Unroll();
  played_ = true;
  next_use_ = 0;
  // 2. What several gradients need of it, and its episodes.
  if (minibatches_) {
    Repeat(NumberOf(Recording::kKeep), [&] {
      Advantages();
      minibatches_->Keep(Played());
    });
  }
  for (const auto& group : groups_) group->QueueEpisodes();
  if (!flights_.empty()) NextFlight().watch->Tick();
  // 3. Wait for it, unless its gradient comes next in any case.
  if (!runs_ahead()) memory_.Wait();
  if (recomputes()) held_.reset();  // other weights come
  const std::int64_t waited = WaitedNs() - waited_before;
  if (flights_.empty()) {
    played_times_ = {.act = clock.NowNs() - begin - waited, .wait = waited};
  } else {
    NextFlight().waited_ns = waited;
  }
}

void Rollout::SendWeights() {
  const std::span<float> weights = weights_.host.span();
  if (config_.wire.weights == NumberType::kBf16) RoundToBfloat16(weights);
  if (!flights_.empty()) {
    // The caller may write the next ones before these are sent.
    const std::span<float> sent = NextFlight().weights.span();
    std::ranges::copy(weights, sent.begin());
    Write<float>(memory_, weights_.span(), sent);
  }
  model_->TakeWeights(weights.first(layout_.trained()));
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

void Rollout::Repeat(int id, const std::function<void()>& ops) {
  if (staged_ || Size(unroll_) * groups_.size() > kMaxRecorded) return ops();
  replica_.backend->Repeat(id, ops);
}

void Rollout::Fields(StateBytes& state) {
  CHECK(started_ == finished_, "a gradient is under way");
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
  // 1. Those of each group, and the number of all.
  std::vector<std::vector<envs::EpisodeEnd>> ended(groups_.size());
  std::vector<std::uint64_t> counts;
  std::uint64_t all = 0, replaced = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    envs::VecEnv& env = *groups_[group];
    env.TakeEpisodes(ended[group]);
    episodes.cut += static_cast<std::uint32_t>(std::erase_if(
        ended[group], [](const auto& episode) { return episode.end == envs::End::kCut; }));
    const std::uint64_t untold = env.untold();
    counts.push_back(ended[group].size() + untold - std::exchange(untold_[group], untold));
    all += counts.back();
    replaced += env.replaced();
  }
  episodes.replaced = static_cast<std::uint32_t>(replaced - std::exchange(replaced_, replaced));
  // 2. The newest of each, a part that is its part of all.
  const std::uint64_t told = std::min<std::uint64_t>(all, envs::kKeptEpisodes);
  episodes.untold = all - told;
  std::uint64_t seen = 0;
  for (std::size_t group = 0; group < groups_.size() && all > 0; ++group) {
    const std::uint64_t before = seen * told / all;
    seen += counts[group];
    for (envs::EpisodeEnd end : std::span(ended[group]).last(seen * told / all - before)) {
      end.env += firsts_[group];
      episodes.ended.push_back(end);
    }
  }
  return episodes;
}

}  // namespace starling::actors
