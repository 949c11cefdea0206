// The newest weights that arrived in a message, requested or sent behind a grant, until they are
// used.
//
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wire/codec.h"
#include "wire/snapshot.h"
#include "wire/socket.h"

namespace starling::actors {

class FetchedWeights {
 public:
  // Forgets all weights and requests.
  void Reset();
  // Weights are under way; they must be requested (again) if they have not arrived by `again_ms`.
  void Expect(std::int64_t again_ms);
  bool MustAsk(std::int64_t now_ms) const { return now_ms >= again_ms_; }

  // Replaces the weights by those of `message`, the contents of `envelope`.
  void Came(wire::Envelope envelope, const wire::Message& message);
  // Moves them into `weights` if they are of at least `version` and of the same size; drops them
  // otherwise. Returns whether it moved them.
  bool Take(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);

 private:
  struct Here {
    wire::Envelope envelope;
    wire::SnapshotMeta meta;
    std::span<const float> values;  // in the envelope
  };
  std::optional<Here> here_;
  std::int64_t again_ms_ = 0;  // 0: no weights are under way
};

}  // namespace starling::actors
