// B envs in worker processes (protocol.h), several in each: FrameEnvs for Gymnasium (gym.h) and for
// plug-ins that are isolated.
//
// All processes of an Advance play at the same time. One that dies, does not answer in time or
// answers nonsense is killed, said (with a limit) and replaced before Advance returns; its envs
// answer End::kCut. Seeds: whenever env i gets a process, it gets the next 63 bits of
// StreamId{seed, slot, incarnation, i, Purpose::kEnv}; they do not depend on how envs are spread.
//
// Thread safety: none; all calls from the one thread that made it, which the workers die with.
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

// The next seed for an env: 63 bits, an integer to every language.
std::uint64_t WorkerSeed(RandomStream& stream);

struct WorkerOptions {
  int per_process = 8;
  double timeout_s = 5;         // for one Advance
  double start_timeout_s = 60;  // to start, and for the first Advance of a process
  Repeat repeat = {};
  double sticky_actions = 0;  // chance that a frame repeats the last action
  WhileWaiting while_waiting = {};
};

// Seconds that a process may take for its first episodes, which load what they need.
inline double FirstEpisodeLimitS(double timeout_s,
                                 double start_timeout_s = WorkerOptions().start_timeout_s) {
  return std::max(timeout_s, start_timeout_s);
}

// What one process of `program` plays; it is started, begins an episode in at most `timeout_s` and
// ends. Throws UserError: the worker's own sentence if it says that there is a mistake, else what
// happened to it and the `advice` what to do ("mend the env").
FrameSpec TryWorker(const WorkerProgram& program, double timeout_s, const std::string& advice);

class WorkerEnvs final : public FrameEnvs {
 public:
  // Throws UserError with the worker's own sentence if it says that there is a mistake, or with its
  // last words if it cannot be started.
  WorkerEnvs(WorkerProgram program, int num_envs, const EnvSeed& seed,
             const WorkerOptions& options);
  ~WorkerEnvs() override;

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }

  const FrameResult& result(int env) const override {
    return envs_[static_cast<std::size_t>(env)].result;
  }
  std::span<const std::uint8_t> bytes(int env) const override { return bytes_.newest(env); }
  std::span<const float> floats(int env) const override { return floats_.newest(env); }
  std::span<const std::uint8_t> bytes_before(int env) const override { return bytes_.before(env); }
  std::span<const float> floats_before(int env) const override { return floats_.before(env); }

  std::uint64_t replaced() const override { return replaced_; }

 private:
  struct One {
    RandomStream seeds;
    FrameResult result;
    bool running = false;  // in the eyes of the caller
    bool lost = false;     // the process that played it is gone, and the caller does not know yet
  };
  // One process and what it plays: envs [first, first + count).
  struct Slot {
    std::size_t first = 0, count = 0;
    std::unique_ptr<Worker> worker;
    int failures = 0;   // since something was last played
    bool fresh = true;  // it has not played yet: its first episodes load what they need
  };

  // Throws UserError if a process fails three times with nothing played in between.
  void Play(std::span<const std::int32_t> commands, int frames) override;

  void Start(std::span<Slot* const> slots);
  bool Join(Slot& slot);
  void Fail(Slot& slot, const Trouble& trouble);
  void Ask(std::size_t i, std::int32_t asked, int frames);
  std::vector<Slot*> PlayAll(std::span<Slot* const> slots);
  void Keep(Slot& slot);
  void Cut(const Slot& slot);
  static void CutOne(One& env);
  std::span<std::int32_t> RowsOf(std::size_t first, std::size_t count);

  const WorkerProgram program_;
  const WorkerOptions options_;
  FrameSpec spec_;
  std::vector<One> envs_;
  std::vector<Slot> slots_;
  StickyActions sticky_;
  std::vector<std::int32_t> commands_;  // (B, repeat().frames) as the workers get them
  KeptFrames<std::uint8_t> bytes_;      // one of the two: frames outlive their worker
  KeptFrames<float> floats_;
  std::uint64_t replaced_ = 0;
  RateLimitedLog log_;
};

}  // namespace starling::envs
