// An actor's links to the further processes of a learner that is cut into shards: each gets its slice of
// every gradient, and has its slice of the weights. What is said about a gradient, and the first slice, go
// to the learner itself (actors/link.h).
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
    std::string learner;                   // endpoint through which we reach shard 0
    std::optional<wire::Credentials> keys;
    wire::Header header;     // ours: slot, incarnation, term, session, fingerprint
    std::size_t floats = 0;  // of the whole net
    std::int64_t fetch_again_ms = 200;
  };
  // Throws std::runtime_error or UserError if what a shard shares cannot be opened: it has gone.
  ShardLinks(wire::Context& context, const Where& where);

  // The learner's own slice of the whole.
  wire::Slice first() const { return slices_.front(); }

  // Sends every shard its slice of the gradient that goes to the learner in message `sequence`, computed on
  // version `base`. False if a queue is full: call again with the same, once Poll says writable.
  bool Push(std::uint64_t sequence, std::uint64_t base,
            const std::shared_ptr<const float[]>& gradient);

  // Brings all slices but the first of `weights` to at least `version`, as far as they have come. True once
  // they have; `oldest` is that of the oldest of them then.
  bool Refresh(std::uint64_t version, std::span<float> weights, wire::SnapshotMeta& oldest);

  // The endpoints of the shards of which we have no weights of `version` or newer, for people.
  std::string Behind(std::uint64_t version) const;

  // To wait for between two calls of Refresh or Push.
  std::vector<wire::PollItem> items(bool want_writable) const;

 private:
  struct Link {
    std::string endpoint;
    wire::Slice slice;
    std::unique_ptr<wire::ClientSocket> socket;
    std::optional<wire::SnapshotReader> reader;  // where the shard shares its weights with us
    wire::SnapshotMeta meta;                     // of what we have
    std::int64_t ask_again_ms = 0;               // for weights
    std::uint64_t said = 0, pushed = 0;          // messages; the last gradient whose slice is sent
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
