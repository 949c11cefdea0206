// An actor's links to the further processes of a sharded learner: each receives its slice of every
// gradient and provides its slice of the weights. The first slice and the gradient's metadata go to
// the learner itself (actors/link.h).
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
    std::vector<wire::ShardPlace> places;  // shard 1 and up
    std::string learner;                   // endpoint of shard 0
    std::optional<wire::Credentials> keys;
    wire::Header header;     // ours: slot, incarnation, term, session, fingerprint
    std::size_t floats = 0;  // of the whole net
    std::int64_t fetch_again_ms = 200;
  };
  // Throws std::runtime_error or UserError if the shared memory of a shard cannot be opened because
  // the shard has ended.
  ShardLinks(wire::Context& context, const Where& where);

  // The learner's own slice.
  wire::Slice first() const { return slices_.front(); }

  // Sends every shard its slice of the gradient of message `sequence`, computed on version `base`.
  // Returns false if a queue is full: call it again with the same arguments when Poll reports
  // writable.
  bool Push(std::uint64_t sequence, std::uint64_t base,
            const std::shared_ptr<const float[]>& gradient);

  // Brings all slices of `weights` but the first to at least `version`, as far as they have
  // arrived. Returns true once all have; then `oldest` is the oldest of them.
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& oldest);

  // The endpoints of the shards whose weights are older than `version`, for messages.
  std::string Behind(std::uint64_t version) const;

  // The sockets to poll between two calls of Refresh or Push.
  std::vector<wire::PollItem> items(bool want_writable) const;

 private:
  struct Link {
    std::string endpoint;
    wire::Slice slice;
    std::unique_ptr<wire::ClientSocket> socket;
    std::optional<wire::SnapshotReader> reader;  // of shared weights, if there are any
    wire::SnapshotMeta meta;                     // of our slice of the weights
    std::int64_t ask_again_ms = 0;               // when to request weights again
    std::uint64_t sent = 0, pushed = 0;  // number of messages; sequence of the last gradient
  };
  bool RefreshOne(Link& link, std::uint64_t version, std::span<float> slice);
  bool Fetched(Link& link, std::uint64_t version, std::span<float> slice);
  bool Send(Link& link, const wire::Body& body, std::uint64_t version,
            const wire::SharedTensor& tensor = {});

  const Where where_;
  const std::vector<wire::Slice> slices_;
  SteadyClock clock_;
  std::vector<Link> links_;
};

}  // namespace starling::actors
