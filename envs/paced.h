// Envs whose step takes a set time, like that of a slow simulator (env.step_ms, env.step_jitter).
// Where games take no time at all, actors wait for the cores alone, which hides how well many of
// them share a learner. The pace changes nothing that is played or seen. So only an actor at work
// keeps it: evaluation, display and replay run as fast as they can.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::envs {

// The duration of each step of an actor's envs; plain state. Every unroll draws it once: step_ms
// times a factor uniform in [1 - step_jitter, 1 + step_jitter], one UniformDouble() of
// seed.Stream(0, Purpose::kPace).
class Pace {
 public:
  // REQUIRES: `unroll`, the steps of an unroll, is at least 1.
  Pace(const EnvConfig& config, std::int64_t unroll, const EnvSeed& seed);

  // The duration of the next step, in nanoseconds.
  std::int64_t NextStepNs();

  void Fields(StateBytes& state);

 private:
  double step_ms_, jitter_;
  std::int64_t unroll_, left_ = 0;  // steps of this unroll still to come
  std::int64_t step_ns_ = 0;
  RandomStream stream_;
};

// A clock with a sleep.
class Sleeper : public Clock {
 public:
  // Returns when NowNs() >= ns.
  virtual void SleepUntilNs(std::int64_t ns) = 0;
};

// The machine's clock. The kernel wakes a sleeping thread within its timer slack, 50 us by default,
// and many short steps would add this up. So the constructor sets its thread's slack to 1 ns.
class SteadySleeper final : public Sleeper {
 public:
  SteadySleeper();
  std::int64_t NowNs() const override { return clock_.NowNs(); }
  void SleepUntilNs(std::int64_t ns) override;

 private:
  SteadyClock clock_;  // CLOCK_MONOTONIC
};

// The simulator of an actor: it plays the steps of its groups of envs one after the other.
class PacedSimulator {
 public:
  explicit PacedSimulator(std::unique_ptr<Sleeper> sleeper) : sleeper_(std::move(sleeper)) {}

  // Returns when a step of `step_ns` ends that is asked for now.
  std::int64_t EndOf(std::int64_t step_ns);
  Sleeper& sleeper() { return *sleeper_; }

 private:
  std::unique_ptr<Sleeper> sleeper_;
  std::int64_t busy_until_ = 0;  // ns
};

// `env` at a pace. A step ends no earlier than its duration after its beginning, the time of the
// games included; it begins when it is asked for and the simulator is free. Lost time is not made
// up for by a shorter step, as no simulator could do that. Reset takes no time. Without a simulator
// no step takes time, and the state is the same.
//
// Thread safety: none.
class Paced final : public VecEnv {
 public:
  // `simulator`: shared by the groups of an actor; nullptr leaves the time out. `while_waiting` is
  // called ten times a second during a long step; may be empty.
  Paced(std::unique_ptr<VecEnv> env, const Pace& pace, std::shared_ptr<PacedSimulator> simulator,
        WhileWaiting while_waiting = {});

  bool keeps_pace() const { return simulator_ != nullptr; }

  const EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return env_->size(); }
  void Reset(std::span<float> observations) override { env_->Reset(observations); }
  void StepAsync(std::span<const std::int32_t> actions) override;
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override;
  std::span<const Truncated> truncated() const override { return env_->truncated(); }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override { env_->TakeEpisodes(out); }
  std::uint64_t replaced() const override { return env_->replaced(); }
  std::int64_t waited_ns() const override { return env_->waited_ns() + slept_ns_; }
  std::string WhyNotSaved() const override { return env_->WhyNotSaved(); }
  void Fields(StateBytes& state) override;

 private:
  std::unique_ptr<VecEnv> env_;
  Pace pace_;
  std::shared_ptr<PacedSimulator> simulator_;
  WhileWaiting while_waiting_;
  std::int64_t end_ns_ = 0;  // of the step under way
  std::int64_t slept_ns_ = 0;
};

}  // namespace starling::envs
