// B envs in worker processes (protocol.h), several in each: FrameEnvs for Gymnasium and for
// isolated plug-ins (bridge.h).
//
// All processes of an Advance play at the same time. A process that dies, does not answer in time
// or answers nonsense is killed, logged (with a rate limit) and replaced before Advance returns;
// its envs return End::kCut. Seeds: whenever env i gets a process, it gets the next 63 bits of
// seed.Stream(i, Purpose::kEnv), independent of the distribution of envs over processes.
//
// Thread safety: none; one thread makes all calls, construction included. The workers die with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/random.h"
#include "envs/bridge/worker.h"
#include "envs/env.h"
#include "envs/frames.h"
#include "envs/sticky.h"

namespace starling::envs {

// The next seed for an env: 63 bits, so that it is an integer in every language.
std::uint64_t WorkerSeed(RandomStream& stream);

struct WorkerOptions {
  int per_process = 8;
  double timeout_s = 5;         // for one Advance
  double start_timeout_s = 60;  // to start, and for the first Advance of a process
  Repeat repeat = {};
  double sticky_actions = 0;  // probability that a frame repeats the last action
  WhileWaiting while_waiting = {};
};

// The options of `config`.
WorkerOptions WorkerOptionsOf(const EnvConfig& config, const WhileWaiting& while_waiting);

// The time limit of a process's first turn, which may have to load a lot.
inline double FirstEpisodeLimitS(double timeout_s,
                                 double start_timeout_s = WorkerOptions().start_timeout_s) {
  return std::max(timeout_s, start_timeout_s);
}

// Starts a process of `program`, begins an episode within `timeout_s`, ends the process and returns
// its spec. Throws UserError: the worker's own sentence about a mistake, else its end and `advice`
// ("mend the env").
FrameSpec TryWorker(const WorkerProgram& program, double timeout_s, const std::string& advice);

class WorkerEnvs final : public FrameEnvs {
 public:
  // Throws UserError with the worker's own sentence about a mistake, or with its last words if it
  // cannot be started.
  WorkerEnvs(WorkerProgram program, int num_envs, const EnvSeed& seed,
             const WorkerOptions& options);
  ~WorkerEnvs() override;

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }

  const FrameResult& result(int env) const override { return envs_[env].result; }
  std::span<const std::uint8_t> bytes(int env) const override { return bytes_.newest(env); }
  std::span<const float> floats(int env) const override { return floats_.newest(env); }
  std::span<const std::uint8_t> bytes_before(int env) const override { return bytes_.before(env); }
  std::span<const float> floats_before(int env) const override { return floats_.before(env); }

  std::uint64_t replaced() const override { return replaced_; }
  std::int64_t waited_ns() const override { return waited_ns_; }
  // A process that fails is replaced, before StateError is thrown.
  void Fields(StateBytes& state) override;

 private:
  struct EnvState {
    RandomStream seeds;
    FrameResult result{};
    bool running = false;  // for the caller
    bool lost = false;     // its process was replaced, and the caller has not seen the kCut yet
  };
  // One process, which plays envs [first, first + count).
  struct Slot {
    int first = 0, count = 0;
    std::unique_ptr<Worker> worker{};
    int failures = 0;   // since an action was last played
    bool fresh = true;  // it has not played yet
  };

  void Play(std::span<const std::int32_t> commands, int frames) override;
  // Throws UserError if a process fails three times without playing an action.
  void Take() override;

  std::string NameOf(const Slot& slot) const;
  void CloseAll();
  void Start(std::span<Slot* const> slots);
  bool Join(Slot& slot);
  void Fail(Slot& slot, const WorkerError& error);
  void Ask(int i, std::span<const std::int32_t> asked, int frames);
  void Begin(std::span<Slot* const> slots);
  std::vector<Slot*> Finish();
  void Keep(Slot& slot);
  void Exchange(StateBytes& state, Slot& slot);
  double LimitS(Slot& slot) const;
  void Cut(const Slot& slot);
  static void CutOne(EnvState& env);
  std::span<std::int32_t> RowsOf(int first, int count = 1);
  std::size_t RowWords() const;

  const WorkerProgram program_;
  const WorkerOptions options_;
  const int first_;  // of an actor's envs, for messages
  FrameSpec spec_;
  std::vector<EnvState> envs_;
  std::vector<Slot> slots_;
  std::vector<Slot*> playing_;  // have begun to play, and are not waited for yet
  StickyActions sticky_;
  std::vector<std::int32_t> commands_;  // (B, repeat().frames, width()) for the workers
  KeptFrames<std::uint8_t> bytes_;      // one of the two is used; copies outlive their worker
  KeptFrames<float> floats_;
  std::uint64_t replaced_ = 0;
  std::int64_t waited_ns_ = 0;
  RateLimitedLog log_;
};

}  // namespace starling::envs
