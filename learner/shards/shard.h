// A further process of a learner that is cut into shards: owns a slice of the weights and of the
// optimizer's state, and applies what shard 0 decides (learner/shards/shard_links.h is its side).
//
// receive a slice -> check -> report -> verdict -> apply -> publish -> report. It knows no members, judges
// nothing and orders nothing.
//
// Thread safety: Run() is its network thread; the applier and the writer of checkpoints have their own.
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

#include "core/bell.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/apply/applier.h"
#include "learner/newest_weights.h"
#include "learner/shards/pending_slices.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/start.h"
#include "net/parameters.h"
#include "wire/gate.h"
#include "wire/slices.h"
#include "wire/socket.h"

namespace starling::learner {

struct ShardOptions {
  std::filesystem::path run_dir;
  std::string learner;                // endpoint of shard 0 for the others
  std::size_t shard = 1;              // which we are
  std::function<bool()> abandoned{};  // true: end (our parent is gone); may be empty
};

class Shard {
 public:
  // Says hello, is told what to begin with, and opens its sockets. Throws UserError or
  // std::runtime_error with a sentence.
  Shard(const Config& config, net::ParameterLayout layout, ShardOptions options);

  // True: the learner has ended in order; false: it is gone.
  bool Run();

 private:
  struct Begin {
    std::unique_ptr<wire::Context> context;
    std::unique_ptr<wire::ClientSocket> learner;
    wire::ShardWelcome welcome;
    std::uint32_t term = 0, session = 0;
    TrainingState state;  // of our slice
  };
  static Begin Greet(const Config& config, const net::ParameterLayout& layout,
                     const ShardOptions& options);
  Shard(const Config& config, net::ParameterLayout layout, ShardOptions options, Begin begin);

  struct InFlightUpdate {
    Update update;
    std::vector<HeldSlice> slices;
  };

  void HearActors();
  void Handle(wire::Envelope envelope);
  void OnSlice(wire::Envelope envelope, const wire::Message& message);
  void Report(const GradientName& name);
  void OnFetch(const std::string& peer, const wire::Header& header);
  void HearLearner();
  void Apply(std::uint64_t version, const wire::Verdict& verdict);
  void Finish();
  void SealIfSettled();
  void Save(TrainingState state);
  void CollectSaved();
  void Beat();
  void Say(const wire::Header& header, const wire::Body& body);
  void WatchConnections();
  void WatchGate();

  const Config config_;
  const net::ParameterLayout layout_;
  const ShardOptions options_;
  const wire::Slice slice_;
  const std::uint32_t term_, session_;
  SteadyClock clock_;
  std::unique_ptr<wire::Context> context_;
  std::unique_ptr<wire::ClientSocket> learner_;
  std::optional<wire::Gate> gate_;
  wire::ServerSocket socket_;  // for actors
  wire::SnapshotWriter snapshot_;
  NewestWeights newest_;
  Bell bell_;
  CheckpointWriter checkpoints_;

  PendingSlices held_;
  std::deque<std::unique_ptr<InFlightUpdate>> in_flight_;
  std::optional<std::uint64_t> seal_;  // told to, once this version is there
  std::uint64_t said_ = 0;
  std::int64_t beat_ms_ = 0;  // when we last said anything
  bool over_ = false;
  RateLimitedLog refusals_;
  std::unique_ptr<Applier> applier_;  // last: its threads end before what they use
};

}  // namespace starling::learner
