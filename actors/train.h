// The two loops of an actor: grants in, gradients out, until the client goes down.
//
// A Client has the calls of LearnerClient that the loops make; tests have one of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "actors/rollout.h"
#include "wire/protocol.h"
#include "wire/snapshot.h"

namespace starling::actors {

// A gradient is sent before the next unroll begins.
template <class Client>
void TrainInTurn(Client& client, Rollout& rollout) {
  wire::SnapshotMeta meta;   // of the weights in the replica
  std::uint64_t played = 0;  // their version when the last unroll was played
  while (auto grant = client.NextGrant()) {
    // 1. A new unroll, on the newest weights.
    if (grant->use == 0 || !rollout.mid_unroll()) {
      if (!client.Refresh(grant->version, rollout.weights(), meta)) return;
      rollout.Act();
      played = meta.version;
      rollout.recomputes() ? void(grant = client.Acted(*grant)) : client.Prefetch(meta);
      if (!grant) return;
    }
    // 2. A gradient of it: on the same weights, or again on the newest.
    const bool joined =
        !rollout.recomputes() || client.Refresh(grant->version, rollout.weights(), meta);
    if (!joined) return;
    const RolloutGradient gradient =
        rollout.Gradient(grant->use, meta.entropy, client.NextGradientSpace());
    if (!client.Push(*grant, meta, played, gradient, rollout.TakeEpisodes())) return;
  }
}

// While the GPU computes one gradient, the host sends the one before and queues the next unroll, if
// its grant and its weights are here. So the GPU need not wait for the wire or the learner. The
// weights of an unroll may then be older by one gradient; the learner judges it as any other.
// REQUIRES: rollout.runs_ahead().
template <class Client>
void TrainAhead(Client& client, Rollout& rollout) {
  struct Started {
    wire::Grant grant;
    wire::SnapshotMeta meta;
  };
  std::optional<Started> before;
  wire::SnapshotMeta meta;  // of the weights in rollout.weights()
  while (true) {
    // 1. Start the next gradient; wait for a grant only if no gradient is under way.
    const auto grant = before ? client.GrantAhead(meta) : client.NextGrant();
    if (!grant && !before) return;
    std::optional<Started> next;
    if (grant) {
      if (!client.Refresh(grant->version, rollout.weights(), meta)) return;
      rollout.Act();
      rollout.StartGradient(grant->use, meta.entropy);
      next = {*grant, meta};
      client.Prefetch(meta);
    }
    // 2. Finish the one before.
    if (before) {
      const RolloutGradient gradient = rollout.FinishGradient(client.NextGradientSpace());
      const wire::SnapshotMeta& its = before->meta;
      if (!client.Push(before->grant, its, its.version, gradient, rollout.TakeEpisodes())) return;
    }
    before = std::exchange(next, {});
  }
}

}  // namespace starling::actors
