// Shard 0's connections to the other processes of a learner. Each of them has a slice of the weights,
// receives every verdict, and reports when it has applied it (learner/shards/shard.h is its side).
//
// They are one learner: if one of them ends, all do, and start again from the last checkpoint.
//
// Every slice that a shard reports it forgets when a verdict names it, or when it is told to forget it; under
// one name it reports the next one only then.
//
// Thread safety: none; the network thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learner/apply/update.h"
#include "learner/shards/gradient_assembler.h"
#include "learner/storage/journal.h"
#include "wire/socket.h"

namespace starling::learner {

struct ShardsOptions {
  std::size_t others = 1;  // beside shard 0
  std::string endpoint;    // where they find us
  std::uint32_t term = 0, session = 0;
  std::uint64_t version = 0, fingerprint = 0;  // that they begin with
};

class Shards {
 public:
  Shards(wire::Context& context, const ShardsOptions& options);

  const wire::ServerSocket& socket() const { return socket_; }

  // What the next thing that a shard has said means for us.
  struct Heard {
    enum class What : std::uint8_t { kHello, kReady, kSlice, kApplied, kSaved } what;
    std::size_t shard = 0;
    GradientName gradient{};  // kSlice
    double norm = 0;          // kSlice
    std::string key{};        // kSlice: its sender's
  };
  std::optional<Heard> Hear();

  void Welcome(std::size_t shard, const wire::ShardWelcome& welcome);
  bool ready() const { return places_.size() == others_; }
  std::vector<wire::ShardPlace> places() const;

  void Tell(const UpdateRecord& record, const Update& update, bool checkpoint);
  // False from then on: a shard could not be told; it is gone, or does not read, and of no use any more.
  bool all_reachable() const { return reachable_; }
  // Settle, and write your part of a checkpoint of `version`.
  void Seal(std::uint64_t version);
  // What became of a slice that was reported, if no verdict names it: by all, or by one of them.
  void Forget(const GradientName& gradient);
  void Forget(const GradientName& gradient, std::size_t shard);
  void ReloadKeys();
  void Farewell();

  // For `ms` more nothing has come; the shard of which nothing has come for `patience_ms`, if there is one.
  // They speak even if there is nothing to say (wire.heartbeat_ms).
  std::optional<std::size_t> Silent(std::int64_t ms, std::int64_t patience_ms);

  // The newest version that all of them have applied.
  std::uint64_t applied() const;
  // True once all have said what became of their part of a checkpoint of `version`; `error` is what the
  // first of those that failed said.
  bool Saved(std::uint64_t version, std::string& error);

 private:
  void Send(std::size_t shard, const wire::Header& header, const wire::Body& body);
  void SendAll(const wire::Header& header, const wire::Body& body);
  std::optional<Heard> Understand(const wire::Envelope& envelope);

  const std::size_t others_;
  const std::uint32_t term_, session_;
  const std::uint64_t fingerprint_;
  wire::ServerSocket socket_;
  std::uint64_t said_ = 0;
  bool reachable_ = true;
  std::map<std::size_t, std::string> peers_;  // by shard
  std::map<std::size_t, wire::ShardPlace> places_;
  std::map<std::size_t, std::uint64_t> applied_;
  std::map<std::size_t, std::int64_t> silent_ms_;
  std::map<std::uint64_t, std::map<std::size_t, std::string>> saved_;  // errors by version, shard
};

}  // namespace starling::learner
