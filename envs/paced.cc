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

std::int64_t PacedSimulator::EndOf(std::int64_t step_ns) {
  busy_until_ = std::max(busy_until_, sleeper_->NowNs()) + step_ns;
  return busy_until_;
}

Paced::Paced(std::unique_ptr<VecEnv> env, const Pace& pace,
             std::shared_ptr<PacedSimulator> simulator, WhileWaiting while_waiting)
    : env_(std::move(env)),
      pace_(pace),
      simulator_(std::move(simulator)),
      while_waiting_(std::move(while_waiting)) {
  CHECK(!env_->on_gpu(), "{} on a GPU cannot keep a pace", env_->spec().name);
}

void Paced::StepAsync(std::span<const std::int32_t> actions) {
  const std::int64_t step_ns = pace_.NextStepNs();
  if (simulator_ != nullptr) end_ns_ = simulator_->EndOf(step_ns);
  env_->StepAsync(actions);
}

void Paced::StepWait(std::span<float> observations, std::span<float> rewards,
                     std::span<std::uint8_t> terminals) {
  env_->StepWait(observations, rewards, terminals);
  if (simulator_ == nullptr) return;
  Sleeper& sleeper = simulator_->sleeper();
  const std::int64_t begin = sleeper.NowNs();
  std::int64_t now = begin;
  for (; now < end_ns_; now = sleeper.NowNs()) {
    sleeper.SleepUntilNs(std::min(end_ns_, now + kBetweenCallsNs));
    if (end_ns_ - now > kBetweenCallsNs && while_waiting_) while_waiting_(0);
  }
  slept_ns_ += now - begin;
}

void Paced::Fields(StateBytes& state) {
  state.Tag("pace");
  state(pace_);
  env_->Fields(state);
}

}  // namespace starling::envs
