#include "envs/paced.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>

#include "core/check.h"

namespace starling::envs {
namespace {

constexpr std::int64_t kBetweenCallsNs = 100'000'000;

}  // namespace

Pace::Pace(const EnvConfig& config, std::int64_t unroll, const EnvSeed& seed)
    : step_ms_(config.step_ms),
      jitter_(config.step_jitter),
      unroll_(unroll),
      stream_(seed.Stream(0, Purpose::kPace)) {
  CHECK(step_ms_ >= 0 && jitter_ >= 0 && jitter_ <= 1 && unroll >= 1,
        "step_ms {}, step_jitter {}, unroll {}", step_ms_, jitter_, unroll);
}

std::int64_t Pace::NextStepNs() {
  if (left_ == 0) {
    left_ = unroll_;
    const double factor = 1 + jitter_ * (2 * stream_.UniformDouble() - 1);
    step_ns_ = std::llround(step_ms_ * factor * 1e6);
  }
  --left_;
  return step_ns_;
}

void Pace::Fields(StateBytes& state) {
  constexpr std::int64_t kDay = 86'400'000'000'000;  // ns
  state(left_, 0, unroll_);
  state(step_ns_, 0, kDay);
  state(stream_);
}

SteadySleeper::SteadySleeper() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // ns; on failure the slack stays as it is
}

void SteadySleeper::SleepUntilNs(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec until{.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Paced::Paced(std::unique_ptr<VecEnv> env, const Pace& pace, std::unique_ptr<Sleeper> sleeper,
             WhileWaiting while_waiting)
    : env_(std::move(env)),
      pace_(pace),
      sleeper_(std::move(sleeper)),
      while_waiting_(std::move(while_waiting)) {
  CHECK(!env_->on_gpu(), "{} on a GPU cannot keep a pace", env_->spec().name);
}

void Paced::Step(std::span<const std::int32_t> actions, std::span<float> observations,
                 std::span<float> rewards, std::span<std::uint8_t> terminals) {
  const std::int64_t step_ns = pace_.NextStepNs();
  const std::int64_t end = sleeper_ != nullptr ? sleeper_->NowNs() + step_ns : 0;
  env_->Step(actions, observations, rewards, terminals);
  if (sleeper_ == nullptr) return;
  for (std::int64_t now = sleeper_->NowNs(); now < end; now = sleeper_->NowNs()) {
    sleeper_->SleepUntilNs(std::min(end, now + kBetweenCallsNs));
    if (end - now > kBetweenCallsNs && while_waiting_) while_waiting_();
  }
}

void Paced::Fields(StateBytes& state) {
  state.Tag("pace");
  state(pace_);
  env_->Fields(state);
}

}  // namespace starling::envs
