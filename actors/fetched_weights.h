// Weights that come in messages, asked for or unasked behind a grant, until they are used.
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
  // Weights are on their way; if they are not here by `again_ms` they have to be asked for.
  void Expect(std::int64_t again_ms);
  bool MustAsk(std::int64_t now_ms) const { return now_ms >= again_ms_; }

  // `message` points into the envelope. Replaces weights that came before.
  void Came(wire::Envelope envelope, const wire::Message& message);
  // Moves them into `weights` if they are as many and of at least `version`; otherwise discards
  // them.
  bool Take(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& meta);

 private:
  struct Here {
    wire::Envelope envelope;
    wire::SnapshotMeta meta;
    std::span<const float> values;  // in the envelope
  };
  std::optional<Here> here_;
  std::int64_t again_ms_ = 0;  // 0: nothing is on its way
};

}  // namespace starling::actors
