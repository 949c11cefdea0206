// The learner of a simulated fleet: judge, lanes, counters, journal and checkpoints of the real one
// (learner/pipeline.h), told by the simulator what happens and when. There are no sockets, and no
// clock but the one that it is told.
//
// The lanes are threads and apply an update when it is decided, in real time; it counts as published
// only once the simulator says so. Until then nobody sees its weights.
//
// Thread safety: none; one thread. What it leaves in the run directory depends on what it was told
// alone, but for TensorBoard's wall times.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/metrics.h"
#include "learner/counters.h"
#include "learner/pipeline.h"
#include "learner/roster.h"
#include "learner/status.h"
#include "learner/storage/journal.h"
#include "learner/storage/start.h"
#include "learner/tensorboard_log.h"
#include "tools/simulate/workers.h"
#include "wire/snapshot.h"

namespace starling::simulate {

// A gradient on its way to the learner.
struct Pushed {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;  // of this actor's, from 1
  std::uint64_t grant = 0, base = 0;
  std::future<Computed> computed;
};

class VirtualLearner {
 public:
  // Begins a run in `run_dir`, which holds a config.toml and no checkpoints.
  VirtualLearner(const Config& config, learner::NetBlueprint net,
                 const std::filesystem::path& run_dir);

  // All actors join, in the order of their slots, and updates.start_with of them are waited for.
  void JoinAll();

  // A gradient is received: check, judge. Waits until it is computed.
  void Receive(Pushed pushed);

  // Hands the lanes the next update that is due, if they take one and one is due, and waits for it.
  struct Decided {
    std::uint64_t version = 0;
    std::size_t gradients = 0;
    std::shared_ptr<const Weights> weights;
  };
  std::optional<Decided> Decide();

  // The oldest update that was decided and not published is now.
  void Publish(std::int64_t now_ns);

  // Grants to be sent now: those whose version is published.
  std::vector<learner::Grant> TakeGrants();

  // A grant was sent staleness.deadline_s ago: if it is not spent yet, it ends.
  void Expire(const learner::Grant& grant);

  // Everything decided is published: the last checkpoint, and all of it on the disk. False, with a
  // trouble, if it could not be written.
  bool End();
  // What could not be written, since the last call; each sentence once.
  std::vector<std::string> TakeTroubles();

  std::shared_ptr<const Weights> first_weights() const { return first_weights_; }
  std::uint32_t incarnation() const { return incarnation_; }  // of all actors
  std::uint64_t published() const { return published_; }
  std::uint64_t steps() const { return pipeline_.steps(); }
  bool over() const { return pipeline_.over(); }
  bool idle() const { return pipeline_.idle(); }
  const learner::Counters& counters() const { return counters_; }
  const learner::Judge& judge() { return pipeline_.judge(); }

  // The status line of a real learner (learner/status.h), and a line of metrics.jsonl.
  nlohmann::ordered_json Status() const;
  void WriteMetrics();
  // What Status says of where the virtual time went.
  void SetTime(const learner::TimeStatus& time) { time_ = time; }

 private:
  VirtualLearner(const Config& config, learner::NetBlueprint net,
                 const std::filesystem::path& run_dir, learner::Start start);
  wire::Outcome Check(const Computed& computed) const;
  wire::Outcome Spend(const Pushed& pushed, Computed computed);
  void Trouble(const std::string& sentence);
  void SaveCheckpoint(learner::Pipeline::Finished::Checkpoint checkpoint);

  const Config config_;
  const net::ParameterLayout layout_;
  const std::filesystem::path run_dir_;
  const std::uint32_t term_;
  learner::Roster roster_;
  learner::Counters counters_;
  learner::JournalWriter journal_;
  MetricsFile metrics_;
  learner::TensorBoardLog board_;
  wire::SnapshotWriter snapshot_;
  wire::SnapshotReader reader_;
  std::shared_ptr<const Weights> first_weights_;
  std::uint32_t incarnation_ = 0;

  std::vector<learner::Grant> unsent_;  // their version is not published yet
  std::uint64_t published_ = 0;
  Computed newest_;  // what the newest gradient said of itself; its values are gone
  learner::TimeStatus time_;
  std::string last_checkpoint_;
  bool saved_ = false;
  std::vector<std::string> troubles_;  // all there were
  std::size_t troubles_told_ = 0;

  std::counting_semaphore<> applied_{0};
  learner::Pipeline pipeline_;  // last: its threads end before what they use
};

}  // namespace starling::simulate
