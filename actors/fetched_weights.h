// Weights that came in a message: what was asked for, or came behind a grant unasked, until it is used.
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
  // Nothing came, nothing is on its way.
  void Reset();
  // They are on their way; if they are not here by `again_ms` they have to be asked for.
  void Expect(std::int64_t again_ms);
  bool MustAsk(std::int64_t now_ms) const { return now_ms >= again_ms_; }

  // `message` is what is in the envelope. Takes the place of what came before.
  void Came(wire::Envelope envelope, const wire::Message& message);
  // Into `weights`, if they are of at least `version` and as many. Otherwise they are of no use and gone.
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
