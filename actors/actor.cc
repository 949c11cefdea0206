#include "actors/actor.h"

#include "actors/rollout.h"
#include "core/denormals.h"
#include "core/log.h"

namespace starling::actors {

namespace {

// One incarnation: from the welcome until the link goes down.
void RunIncarnation(LearnerLink& link) {
  Rollout rollout(link.config(), link.slot(), link.incarnation(), [&link] { link.Beat(); });
  if (!link.CheckNet(rollout.layout().fingerprint(), rollout.layout().size())) return;
  LogInfo("slot {}, incarnation {}: {} envs x {} steps a gradient", link.slot(), link.incarnation(),
          link.config().actors.envs_per_actor, link.config().actors.unroll);

  wire::SnapshotMeta meta;  // of the weights in the replica
  while (const auto grant = link.NextGrant()) {
    if (!link.Refresh(grant->version, rollout.weights(), meta)) return;
    const RolloutGradient gradient = rollout.Run(meta.entropy, link.GradientSpace());
    if (!link.Push(*grant, meta, gradient, rollout.TakeEpisodes())) return;
  }
}

}  // namespace

LinkState RunActor(const LinkOptions& options, std::string& text) {
  FlushDenormals();
  LearnerLink link(options);
  while (link.Join()) {
    RunIncarnation(link);
    if (link.state() != LinkState::kLost) break;
    LogInfo("the learner is gone; looking for it again");
  }
  if (link.state() == LinkState::kStopped) link.SayGoodbye();
  text = link.text();
  return link.state();
}

}  // namespace starling::actors
