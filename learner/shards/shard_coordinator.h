// Shard 0's side of a learner of several processes: starts the others, puts the slices of gradients
// together, shares every update, and notices when one of them is lost.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "learner/admission.h"
#include "learner/engine.h"
#include "learner/shards/gradient_slices.h"
#include "learner/shards/shard_links.h"
#include "learner/storage/checkpoint_keeper.h"
#include "wire/runtime_dir.h"
#include "wire/socket.h"

namespace starling::learner {

class ShardCoordinator {
 public:
  struct Options {
    const wire::RuntimeDir& runtime_dir;
    bool shared_weights = false;         // slices lie in shared memory
    std::function<std::string()> ended;  // why a shard has ended; "" while all live; may be empty
  };
  // From now on `engine` shares its updates and `keeper` waits for parts. All references must
  // outlive the coordinator.
  ShardCoordinator(const Config& config, wire::Context& context, Engine& engine,
                   CheckpointKeeper& keeper, Admission& admission, const Options& options,
                   const Clock& clock);

  const wire::ServerSocket& socket() const { return links_.socket(); }
  // All shards have started.
  bool ready() const { return links_.ready(); }
  std::vector<wire::ShardAddress> addresses() const { return links_.addresses(); }

  // Handles the messages of the shards. Throws std::runtime_error if a shard is lost.
  void Receive();
  // Welcomes new shards with the checkpoint to start from, as soon as one is written. Throws
  // std::runtime_error if it cannot be written.
  void WelcomeNew();

  // Whether so many slices of this incarnation are missing that it is at fault.
  bool TooManyMissing(std::uint32_t slot, std::uint32_t incarnation) const;
  // Shard 0's own slice of a gradient of a member.
  void AddOwnSlice(wire::Envelope envelope, const wire::Message& message);
  // Returns the next gradient whose slices are all here, or nullopt.
  std::optional<GradientAssembler::Whole> TakeWhole() { return assembler_.TakeWhole(); }
  // The gradient was refused; the member has left.
  void Discard(const GradientName& gradient) { links_.Discard(gradient); }
  void DiscardAllOf(std::uint32_t slot, std::uint32_t incarnation);

  void ReloadKeys() { links_.ReloadKeys(); }
  void WriteFinalCheckpoint(std::uint64_t version) { links_.WriteFinalCheckpoint(version); }
  void Leave() { links_.Leave(); }

 private:
  void OnSliceHeld(const ShardLinks::Event& event);
  void CheckAlive();

  const Config& config_;
  Engine& engine_;
  CheckpointKeeper& keeper_;
  Admission& admission_;
  const Options options_;
  const Clock& clock_;
  ShardLinks links_;
  GradientAssembler assembler_;
  std::vector<std::size_t> unwelcomed_;  // shards that have sent a hello
  std::int64_t checked_ms_;              // last CheckAlive
  std::optional<std::int64_t> unreachable_ms_;
};

}  // namespace starling::learner
