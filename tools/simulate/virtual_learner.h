// The learner of a simulated fleet: the real engine (learner/engine.h), driven by the simulator
// instead of sockets and a clock.
//
// The applier's threads apply an update in real time when it is decided; it counts as published
// only when the simulator calls Publish. Until then no actor receives its weights.
//
// Thread safety: none; one thread. The files of the run depend on the calls alone, except for
// TensorBoard's wall times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/metrics.h"
#include "learner/engine.h"
#include "learner/run_status.h"
#include "learner/status_reporter.h"
#include "learner/storage/start.h"
#include "tools/simulate/workers.h"
#include "wire/snapshot.h"

namespace starling::simulate {

// A gradient on its way to the learner.
struct Pushed {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;  // the actor counts its gradients from 1
  std::uint64_t grant = 0, base = 0;
  std::future<Computed> computed;
};

class VirtualLearner {
 public:
  // Begins a run in `run_dir`, which holds a config.toml and no checkpoints.
  VirtualLearner(const Config& config, learner::InitialNet net,
                 const std::filesystem::path& run_dir);

  // All actors join in the order of their slots. The first grants need updates.start_with of them.
  void JoinAll();

  // Receives a gradient; waits until it is computed.
  void Receive(Pushed pushed);

  struct Decided {
    std::uint64_t version = 0;
    std::size_t gradients = 0;
    std::shared_ptr<const Weights> weights;
  };
  // Applies the next update that is due, if there is one and the applier has room.
  std::optional<Decided> Decide();

  // Publishes the oldest update that is decided and not published.
  void Publish(std::int64_t now_ns);

  // Returns the grants that are sent now.
  std::vector<learner::Grant> TakeGrants(std::int64_t now_ns);
  // Ends the grants whose deadline has come.
  void ExpireGrants(std::int64_t now_ns) { engine_.ExpireGrants(now_ns); }
  std::optional<std::int64_t> DeadlineNs(std::uint64_t grant) const {
    return engine_.DeadlineNs(grant);
  }

  // Writes the last checkpoint and everything else to disk. Returns false, with an error, if the
  // checkpoint could not be written. REQUIRES: everything decided is published.
  bool End();
  // Returns the errors since the last call; each sentence once in a run.
  std::vector<std::string> TakeErrors();

  std::shared_ptr<const Weights> first_weights() const { return first_weights_; }
  std::uint32_t incarnation() const { return incarnation_; }  // of all actors
  std::uint64_t published() const { return engine_.taken(); }
  std::uint64_t steps() const { return engine_.pipeline().steps(); }
  bool over() const { return engine_.over(); }
  bool idle() const { return engine_.idle(); }
  const learner::Counters& counters() const { return engine_.counters(); }
  const learner::Judge& judge() const { return engine_.judge(); }

  learner::RunStatus Status() const;
  void WriteMetrics();
  // Where the virtual time went, for Status.
  void SetTime(const learner::TimeStatus& time) { time_ = time; }

 private:
  VirtualLearner(const Config& config, learner::InitialNet net,
                 const std::filesystem::path& run_dir, learner::Start start);
  void AddError(const std::string& sentence);
  void SaveCheckpoint(learner::CheckpointContent content);

  const Config config_;
  const net::ParameterLayout layout_;
  const std::string spaces_;
  const std::filesystem::path run_dir_;
  MetricsFile metrics_;
  learner::TensorBoardLog tensorboard_;
  wire::SnapshotWriter snapshot_;
  wire::SnapshotReader reader_;
  std::shared_ptr<const Weights> first_weights_;
  std::uint32_t incarnation_ = 0;

  learner::TimeStatus time_;
  std::string last_checkpoint_;
  bool saved_ = false;
  std::vector<std::string> errors_;  // of the whole run
  std::size_t errors_taken_ = 0;

  std::counting_semaphore<> applied_{0};
  learner::Engine engine_;  // last: its threads use the members above
};

}  // namespace starling::simulate
