// The turns of an unroll; declared in actors/rollout.h.
#include "actors/rollout.h"

namespace starling::actors {
namespace {

std::size_t Index(int count) { return static_cast<std::size_t>(count); }

}  // namespace

// The groups take turns: the net works on one while others are stepped. Turn t of a group takes the
// results of its step t - 1, acts, and begins step t; turn T ends with the values that bootstrap.
void Rollout::Unroll() {
  const int groups = static_cast<int>(groups_.size());
  for (int group = 0; fresh_ && group < groups; ++group) {
    groups_[Index(group)]->Reset(Rows(BlockOf(0, group)));
  }
  fresh_ = false;
  if (!groups_[0]->on_gpu() || staged_) return TakeTurns();
  // With games on the GPU, one recording holds all steps.
  Repeat(0, [&] {
    for (int t = 0; t <= unroll_; ++t) {
      for (int group = 0; group < groups; ++group) {
        Observe(t, group);
        Act(t, group);
        Finish(t, group);
      }
    }
  });
  if (between_steps_) between_steps_();
}

// Each turn returns to the host. A net in stages may still work on a turn when the next ones begin.
// After each turn those that the net is through with are finished; at the latest a turn is finished
// before the next one of its group.
void Rollout::TakeTurns() {
  const int groups = static_cast<int>(groups_.size());
  const int turns = (unroll_ + 1) * groups;
  int finished = 0;
  const auto finish = [&] {
    Finish(finished / groups, finished % groups);
    ++finished;
  };
  for (int turn = 0; turn < turns; ++turn) {
    const int t = turn / groups, group = turn % groups;
    if (finished == turn - groups) finish();
    Observe(t, group);
    Repeat(1 + turn, [&] { Act(t, group); });
    while (finished <= turn && model_->Ready(BlockOf(finished / groups, finished % groups))) {
      finish();
    }
    if (t > 0 && group + 1 == groups && between_steps_) between_steps_();
  }
  while (finished < turns) finish();
}

// Waits for the step before turn t, and keeps its results.
void Rollout::Observe(int t, int group) {
  if (t == 0) return;
  envs::VecEnv& env = *groups_[Index(group)];
  const net::Block now = BlockOf(t, group), before = BlockOf(t - 1, group);
  const auto rewards = Of(rewards_.span(), before);
  env.StepWait(Rows(now), rewards, Ends(before));
  normalizer_.Scale(weights_.span(), before, Resets(before), rewards);
  if (!env.truncated().empty()) ForwardFinals(t - 1, group);
}

// A net in one part acts here, so that a GPU records both as one; a net in stages does in Finish.
void Rollout::Act(int t, int group) {
  const net::Block block = BlockOf(t, group);
  Forward(block, t - 1);
  if (!staged_ && t < unroll_) Sample(block);
}

void Rollout::Forward(const net::Block& block, int before) {
  normalizer_.Standardize(weights_.span(), block, model_->observations());
  model_->Forward(NetWeights(), block, before);
}

std::span<std::int32_t> Rollout::ActionsOf(const net::Block& block) {
  return Of(actions_.span(), block, Index(spec().actions.width()));
}

void Rollout::Sample(const net::Block& block) {
  const net::PolicyShape policy = model_->policy();
  replica_.backend->SampleActions(
      {.n = block.envs,
       .policy = policy,
       .logits = Of(model_->logits(), block, Index(policy.outputs)).data(),
       .streams = action_streams_.span().subspan(Index(block.first)).data(),
       .taken = ActionsOf(block).data()});
}

// Waits for the net, and begins step t of the group with the actions of its turn t.
void Rollout::Finish(int t, int group) {
  const net::Block block = BlockOf(t, group);
  model_->Await(block);
  if (t > 0 && !groups_[Index(group)]->truncated().empty()) AddFinals(t - 1, group);
  if (t == unroll_) return;
  if (staged_) Sample(block);
  groups_[Index(group)]->StepAsync(ActionsOf(block));
}

// A time limit ends an episode although the game could go on. The value of its final state is added
// to the last reward; then it is an end like any other (Pardo et al. 2018).
void Rollout::ForwardFinals(int t, int group) {
  // The other rows say nothing, and must not be those of an earlier step: how the net computes may
  // depend on all of them, and a restored rollout would round otherwise.
  const net::Block spare = BlockOf(unroll_ + 1, group);  // rows that are no samples
  Clear(memory_, Rows(spare));
  for (const envs::Truncated& end : groups_[Index(group)]->truncated()) {
    const std::size_t size = end.observation.size();
    Write<float>(memory_, Rows(spare).subspan(Index(end.env) * size, size), end.observation);
  }
  Forward(spare, t);
}

void Rollout::AddFinals(int t, int group) {
  const net::Block block = BlockOf(t, group), spare = BlockOf(unroll_ + 1, group);
  model_->Await(spare);
  replica_.backend->AddBootstrap({.n = block.envs,
                                  .gamma = config_.loss.gamma,
                                  .ends = Ends(block).data(),
                                  .truncated = static_cast<std::uint8_t>(envs::End::kTruncated),
                                  .values = Of(model_->values(), spare).data(),
                                  .rewards = Of(rewards_.span(), block).data()});
}

}  // namespace starling::actors
