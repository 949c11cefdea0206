// Envs whose step takes a set time, as a slow simulator's does (env.step_ms, env.step_jitter): where
// games take no time at all, actors wait for the cores alone, and how well many of them share a learner
// does not show. What is played and seen is not changed in the least, so nothing but an actor at work
// keeps a pace: whoever evaluates, shows or replays a run plays as fast as it can.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::envs {

// How long each step of an actor's envs takes; plain state. The time of a step is drawn anew for every
// unroll: step_ms times a factor uniform in [1 - step_jitter, 1 + step_jitter], one UniformDouble() of
// the stream {seed, slot, incarnation, 0, Purpose::kPace}.
class Pace {
 public:
  // `unroll`: steps of an unroll, at least 1.
  Pace(const EnvConfig& config, std::int64_t unroll, const EnvSeed& seed);

  // Nanoseconds that the next step takes.
  std::int64_t NextStepNs();

 private:
  double step_ms_, jitter_;
  std::int64_t unroll_, left_ = 0;  // steps of this unroll still to come
  std::int64_t step_ns_ = 0;
  RandomStream stream_;
};

// A clock that one can sleep by.
class Sleeper : public Clock {
 public:
  // Returns at `ns` of NowNs or later; at once if that has passed.
  virtual void SleepUntilNs(std::int64_t ns) = 0;
};

// The machine's. A thread asleep is woken within the kernel's timer slack, 50 us where nothing is said,
// which many short steps would add up: the thread that makes one asks for the least.
class SteadySleeper final : public Sleeper {
 public:
  SteadySleeper();
  std::int64_t NowNs() const override { return clock_.NowNs(); }
  void SleepUntilNs(std::int64_t ns) override;

 private:
  SteadyClock clock_;  // CLOCK_MONOTONIC
};

// `env` at a pace. A step begins when it is asked for and ends no earlier than its time after that, what
// the games take themselves included; lost time is not made up for by a shorter step, as no simulator
// could. Reset takes no time.
//
// Thread safety: none.
class Paced final : public VecEnv {
 public:
  // `while_waiting` is called ten times a second of a long step; may be empty.
  Paced(std::unique_ptr<VecEnv> env, const Pace& pace, std::unique_ptr<Sleeper> sleeper,
        WhileWaiting while_waiting = {});

  const EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return env_->size(); }
  void Reset(std::span<float> observations) override { env_->Reset(observations); }
  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) override;
  std::span<const Truncated> truncated() const override { return env_->truncated(); }
  void TakeEpisodes(std::vector<EpisodeEnd>& out) override { env_->TakeEpisodes(out); }
  std::uint64_t replaced() const override { return env_->replaced(); }
  // The games alone, without a pace.
  std::unique_ptr<VecEnv> Clone() const override { return env_->Clone(); }

 private:
  std::unique_ptr<VecEnv> env_;
  Pace pace_;
  std::unique_ptr<Sleeper> sleeper_;
  WhileWaiting while_waiting_;
};

}  // namespace starling::envs
