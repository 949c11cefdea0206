// A process of a sharded learner other than shard 0. It owns a slice of the weights and of the
// optimizer state and applies the updates that shard 0 decides; learner/shards/shard_links.h
// describes the protocol. It knows no members, judges nothing and orders nothing.
//
//   receive a slice -> check -> report -> wait for the update -> apply -> publish -> report
//
// Thread safety: Run() is its network thread; the applier and the checkpoint writer have their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/file_descriptor.h"
#include "core/log.h"
#include "learner/admission.h"
#include "learner/apply/applier.h"
#include "learner/newest_weights.h"
#include "learner/shards/backlog.h"
#include "learner/shards/gradient_slices.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/start.h"
#include "net/parameters.h"
#include "wire/slices.h"
#include "wire/socket.h"

namespace starling::learner {

struct ShardOptions {
  std::filesystem::path run_dir;
  std::string learner;                // endpoint of shard 0 for the other shards
  std::size_t shard = 1;              // the number of this one
  std::function<bool()> abandoned{};  // true: end (the parent is gone); may be empty
  const Clock* clock = nullptr;       // nullptr: the steady clock
};

class Shard {
 public:
  // Sends a hello, reads the checkpoint that the welcome names, and opens its sockets. Throws
  // UserError or std::runtime_error with a sentence.
  Shard(const Config& config, net::ParameterLayout layout, ShardOptions options);

  // Returns true when the learner has ended in order, false if it is gone.
  bool Run();

 private:
  struct Welcomed {
    std::unique_ptr<wire::Context> context;
    std::unique_ptr<wire::ClientSocket> learner;
    wire::ShardWelcome welcome;
    std::uint32_t term = 0, session = 0;
    TrainingState state;  // of this shard's slice
  };
  static Welcomed SayHello(const Config& config, const net::ParameterLayout& layout,
                           const ShardOptions& options);
  Shard(const Config& config, net::ParameterLayout layout, ShardOptions options, Welcomed welcomed);

  struct InFlightUpdate {
    Update update;
    std::vector<HeldSlice> slices;
  };

  // actors
  void ReceiveFromActors();
  void Handle(wire::Envelope envelope);
  void OnSlice(wire::Envelope envelope, const wire::Message& message);
  void OnFetch(const std::string& peer, const wire::Header& header);
  // shard 0
  void ReceiveFromLearner();
  void ReportSlice(const GradientName& name);
  void OnApplyUpdate(std::uint64_t version, const wire::ApplyUpdate& order);
  void ReportApplied();
  void WriteFinalCheckpointIfApplied();
  void SavePart(TrainingState state);
  void ReportSaved();
  void Beat();
  void Send(const wire::Header& header, const wire::Body& body);

  const Config config_;
  const net::ParameterLayout layout_;
  const ShardOptions options_;
  const wire::Slice slice_;
  const std::uint32_t term_, session_;
  const SteadyClock steady_clock_;
  const Clock& clock_;
  std::unique_ptr<wire::Context> context_;
  std::unique_ptr<wire::ClientSocket> learner_;
  Admission::Refusals refused_;  // reported nowhere
  Admission admission_;        // before socket_: its authenticator must exist when the socket opens
  wire::ServerSocket socket_;  // for actors
  wire::SnapshotWriter snapshot_;
  NewestWeights newest_;
  EventFd wake_up_;
  CheckpointWriter checkpoints_;

  PendingSlices pending_;
  std::vector<wire::ApplyUpdate::Item> items_;  // of an update that goes on in the next message
  std::deque<std::unique_ptr<InFlightUpdate>> in_flight_;
  std::optional<std::uint64_t> final_version_;  // write the final checkpoint when it is applied
  Backlog unsent_;                              // to shard 0
  std::uint64_t sent_ = 0;                      // messages
  std::int64_t sent_ms_ = 0;                    // the last message to shard 0
  bool over_ = false;
  RateLimitedLog refusals_;
  std::unique_ptr<Applier> applier_;  // last: its threads use the members above
};

}  // namespace starling::learner
