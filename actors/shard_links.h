// An actor's connections to shards 1 and up of a sharded learner. Each shard receives its slice of
// every gradient and owns its slice of the weights. The message that describes a gradient goes with
// the first slice to shard 0, the learner itself (actors/learner_client.h).
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "wire/protocol.h"
#include "wire/slices.h"
#include "wire/snapshot.h"
#include "wire/socket.h"

namespace starling::actors {

class ShardLinks {
 public:
  struct Where {
    std::vector<wire::ShardAddress> others;  // shard 1 and up
    std::string learner;                     // endpoint of shard 0
    std::optional<wire::Credentials> keys;
    wire::Header header;     // of this actor: slot, incarnation, term, session, fingerprint
    std::size_t floats = 0;  // of the whole net
    wire::ElementType gradient_type = wire::ElementType::kF32;
    wire::ElementType weights_type = wire::ElementType::kF32;
    std::int64_t fetch_again_ms = 200;
  };
  // `clock` must outlive the links. Throws std::runtime_error or UserError if the memory that a
  // shard shares cannot be opened: the shard has gone.
  ShardLinks(wire::Context& context, const Where& where, const Clock& clock);

  // The slice of the learner itself.
  wire::Slice first() const { return slices_.front(); }

  // Sends every shard its slice of the gradient, which has the message number `sequence` and was
  // computed on version `base`. Returns false if a queue is full: call again with the same
  // arguments once it is writable.
  bool Push(std::uint64_t sequence, std::uint64_t base,
            const std::shared_ptr<const float[]>& gradient);

  // Asks for the slices that are older than `version` and do not lie in shared memory.
  void Prefetch(std::uint64_t version);

  // Updates all slices of `weights` but the first to at least `version`, if they have arrived.
  // Returns true if all have; then `oldest` describes the oldest of them.
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& oldest);

  // Returns the endpoints of the shards whose weights are older than `version`, for a message.
  std::string Behind(std::uint64_t version) const;

  // Returns the sockets to poll between two calls of Refresh or Push.
  std::vector<wire::PollItem> items(bool want_writable) const;

 private:
  struct Link {
    std::string endpoint;
    wire::Slice slice;
    std::unique_ptr<wire::ClientSocket> socket;
    std::optional<wire::SnapshotReader> reader;  // if the shard shares its weights
    wire::SnapshotMeta meta;                     // of the newest weights received
    std::int64_t ask_again_ms = 0;               // time of the next request for weights
    std::uint64_t sent = 0, pushed = 0;          // messages sent; the newest gradient among them
  };
  bool RefreshOne(Link& link, std::uint64_t version, std::span<float> slice);
  bool Fetched(Link& link, std::uint64_t version, std::span<float> slice);
  void Ask(Link& link, std::uint64_t version);
  bool Send(Link& link, const wire::Body& body, std::uint64_t version,
            const wire::SharedTensor& tensor = {});

  const Where where_;
  const std::vector<wire::Slice> slices_;
  const Clock& clock_;
  std::vector<Link> links_;
};

}  // namespace starling::actors
