// Shard 0's connections to the other processes of a learner that is cut into shards. Each shard
// owns a slice of the weights. This is the whole protocol; learner/shards/shard.h is the other
// side:
//
//   shard -> 0   ShardHello       once, at the start
//   0 -> shard   ShardWelcome     the checkpoint to start from, the endpoint for actors
//   shard -> 0   ShardReady       it listens; actors may be welcomed when all are ready
//   actor -> shard, actor -> 0    the slices of one gradient
//   shard -> 0   SliceHeld        a slice has arrived, with its norm
//   0 -> shard   ApplyUpdate      the update that takes the gradient, or
//                DiscardSlice     its gradient was refused
//   shard -> 0   ShardApplied     the version is there; also sent as a heartbeat
//   0 -> shard   ApplyUpdate      with `checkpoint`: and save this version; without gradients: save
//                                 the last version
//   shard -> 0   ShardSaved       its part is written, or why it is not
//   0 -> shard   ReloadKeys       read the list of keys again
//   0 -> shard   Leave            the run has ended
//
// If several connections sent slices under one name, a shard reports the next one when the first is
// applied or discarded. All processes are one learner: if one of them ends, all end, and start
// again from the last checkpoint.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learner/apply/applier.h"
#include "learner/shards/backlog.h"
#include "learner/shards/gradient_slices.h"
#include "learner/storage/journal.h"
#include "wire/socket.h"

namespace starling::learner {

struct ShardLinksOptions {
  std::size_t others = 1;  // beside shard 0
  std::string endpoint;    // to listen on
  std::uint32_t term = 0, session = 0;
  std::uint64_t version = 0, fingerprint = 0;  // of the weights to start from
};

class ShardLinks {
 public:
  ShardLinks(wire::Context& context, const ShardLinksOptions& options);

  const wire::ServerSocket& socket() const { return socket_; }

  struct Event {
    enum class Kind : std::uint8_t { kHello, kReady, kSliceHeld, kApplied, kSaved } kind;
    std::size_t shard = 0;
    GradientName gradient{};  // kSliceHeld
    double norm = 0;          // kSliceHeld
    std::string key{};        // kSliceHeld: public key of its sender
  };
  // Returns the event of the next message of a shard, or nullopt if there is none.
  std::optional<Event> Receive();

  void Welcome(std::size_t shard, const wire::ShardWelcome& welcome);
  bool ready() const { return addresses_.size() == others_; }
  std::vector<wire::ShardAddress> addresses() const;

  void BroadcastUpdate(const UpdateRecord& record, const Update& update, bool checkpoint);
  // Every shard writes its part of a checkpoint of `version`, the last one.
  void WriteFinalCheckpoint(std::uint64_t version);
  // The gradient is in no update: all shards, or one of them, discard their slices.
  void Discard(const GradientName& gradient);
  void Discard(const GradientName& gradient, std::size_t shard);
  void ReloadKeys();
  void Leave();

  // False after the connection of a shard has ended, or so much waits for it that it does not read.
  bool all_reachable() const { return reachable_; }
  // Adds `ms` to the silence of every shard. Returns one that was silent for `limit_ms`. Shards
  // send something every wire.heartbeat_ms.
  std::optional<std::size_t> Silent(std::int64_t ms, std::int64_t limit_ms);

  // The newest version that all shards have applied.
  std::uint64_t applied() const;
  // Returns nullopt until all shards have reported their part of a checkpoint of `version`, then ""
  // or the error of the first that failed.
  std::optional<std::string> TakeSaved(std::uint64_t version);

 private:
  void Send(std::size_t shard, const wire::Header& header, const wire::Body& body);
  void SendAll(const wire::Header& header, const wire::Body& body);
  std::optional<Event> Interpret(const wire::Envelope& envelope);

  const std::size_t others_;
  const std::uint32_t term_, session_;
  const std::uint64_t fingerprint_;
  wire::ServerSocket socket_;
  std::uint64_t sent_ = 0;
  bool reachable_ = true;
  std::map<std::size_t, std::string> peers_;  // by shard
  std::map<std::size_t, Backlog> unsent_;     // by shard
  std::map<std::size_t, wire::ShardAddress> addresses_;
  std::map<std::size_t, std::uint64_t> applied_;
  std::map<std::size_t, std::int64_t> silent_ms_;
  std::map<std::uint64_t, std::map<std::size_t, std::string>> saved_;  // errors by version, shard
};

}  // namespace starling::learner
