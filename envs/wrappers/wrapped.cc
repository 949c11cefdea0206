#include "envs/wrappers/wrapped.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling::envs {

namespace {

// The larger of a[i] and b[i] for `count` numbers, many at once. `out` overlaps neither.
template <class T>
void Pool(const T* a, const T* b, std::size_t count, T* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] < b[i] ? b[i] : a[i];
}

// frames (each H * W cells of C channels) to out (H, W, frames * C).
void Interleave(const std::vector<const float*>& frames, std::size_t cells, std::size_t channels,
                float* out) {
  const std::size_t count = frames.size();
  // The usual stack has a loop of its own, which the compiler can vectorise.
  if (count == 4 && channels == 1) {
    const float *const a = frames[0], *const b = frames[1], *const c = frames[2],
                       *const d = frames[3];
    for (std::size_t i = 0; i < cells; ++i) {
      out[4 * i] = a[i];
      out[4 * i + 1] = b[i];
      out[4 * i + 2] = c[i];
      out[4 * i + 3] = d[i];
    }
    return;
  }
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::size_t k = 0; k < count; ++k) {
      out = std::copy_n(frames[k] + cell * channels, channels, out);
    }
  }
}

}  // namespace

const char* FirstWrapper(const EnvConfig& config) {
  const std::pair<bool, const char*> wrappers[] = {
      {config.noop_max > 0, "noop_max"},
      {config.repeat > 1, "repeat"},
      {config.life_loss_ends, "life_loss_ends"},
      {config.time_limit > 0, "time_limit"},
      {config.reward_clip > 0, "reward_clip"},
      {config.pixels, "pixels"},
      {config.stack > 1, "stack"},
  };
  for (const auto& [used, key] : wrappers) {
    if (used) return key;
  }
  return nullptr;
}

EnvSpec WrappedSpec(const FrameSpec& raw, const EnvConfig& config) {
  EnvSpec spec = Screen(raw, config.pixels).spec();
  if (spec.obs_size() > kMaxRowNumbers / config.stack) {
    throw UserError(
        fmt::format("env.stack = {}: observations of {} are {} numbers, and all of them "
                    "together may be {} at most",
                    config.stack, spec.name, spec.obs_size(), kMaxRowNumbers),
        "env.stack");
  }
  spec.channels *= static_cast<int>(config.stack);
  if (spec.actions.box()) spec.actions.bounds = config.action_bounds;
  return spec;
}

WrappedEnv::WrappedEnv(std::unique_ptr<FrameEnvs> frames, const EnvSeed& seed,
                       const EnvConfig& config, WhileWaiting while_waiting)
    : config_(config),
      while_waiting_(std::move(while_waiting)),
      frames_(std::move(frames)),
      screen_(frames_->spec(), config.pixels),
      spec_(WrappedSpec(frames_->spec(), config)),
      noop_(RestingAction(spec_.actions)) {
  CHECK(frames_->repeat() == RepeatOf(config), "{} frames", frames_->repeat().frames);
  CHECK(!spec_.actions.masked || (config.stack == 1 && !config.pixels && !config.max_pool),
        "{}: a mask passes with a single frame", spec_.name);
  for (int i = 0; i < frames_->size(); ++i) {
    envs_.push_back({.index = i, .noops = RandomStream(seed.Stream(envs_.size(), Purpose::kNoop))});
    envs_.back().stack.resize(spec_.row());
  }
  commands_.resize(envs_.size() * noop_.size());
}

void WrappedEnv::Reset(std::span<float> observations) {
  CHECK(observations.size() == envs_.size() * spec_.row());
  truncated_.clear();
  for (EnvState& env : envs_) env.over = true;
  Restart();
  for (EnvState& env : envs_) {
    Observe(env, true, observations.first(spec_.row()));
    observations = observations.subspan(spec_.row());
  }
}

void WrappedEnv::StepAsync(std::span<const std::int32_t> actions) {
  const std::size_t width = noop_.size();
  CHECK(actions.size() == envs_.size() * width, "{} words of actions for {} envs", actions.size(),
        envs_.size());
  truncated_.clear();
  CheckActions(spec_.actions, actions, 0);
  frames_->AdvanceAsync(spec_.actions.box() ? Bounded(actions) : actions, frames_->repeat().frames);
}

std::span<std::int32_t> WrappedEnv::CommandOf(int env) {
  return std::span(commands_).subspan(env * noop_.size(), noop_.size());
}

// The points of `actions` between the bounds of the box, in commands_.
std::span<const std::int32_t> WrappedEnv::Bounded(std::span<const std::int32_t> actions) {
  const ActionSpace& box = spec_.actions;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::size_t k = i % noop_.size();
    commands_[i] = WordOf(IntoBounds(FloatOf(actions[i]), box.low[k], box.high[k], box.bounds));
  }
  return commands_;
}

void WrappedEnv::StepWait(std::span<float> observations, std::span<float> rewards,
                          std::span<std::uint8_t> terminals) {
  CHECK(observations.size() == envs_.size() * spec_.row() && rewards.size() == envs_.size() &&
            terminals.size() == envs_.size(),
        "{} rewards for {} envs", rewards.size(), envs_.size());
  // 1. Take the results, and keep the final observations of truncated episodes before the reset.
  Take();
  std::vector<std::uint8_t> fresh(envs_.size());
  for (EnvState& env : envs_) {
    EndStep(env);
    fresh[env.index] = env.over;
    if (env.end == End::kTruncated) KeepFinal(env);
    const double clip = config_.reward_clip;
    const double reward = clip > 0 ? std::clamp(env.reward, -clip, clip) : env.reward;
    rewards[env.index] = static_cast<float>(reward);
    terminals[env.index] = static_cast<std::uint8_t>(env.end);
  }
  // 2. Reset the envs that are over, and observe all.
  Restart();
  for (EnvState& env : envs_) {
    Observe(env, fresh[env.index] != 0, observations.first(spec_.row()));
    observations = observations.subspan(spec_.row());
  }
}

void WrappedEnv::Take() {
  frames_->AdvanceWait();
  for (EnvState& env : envs_) {
    const FrameResult& result = frames_->result(env.index);
    env.reward = result.reward;
    env.end = result.end;
    env.over = result.end != End::kRunning;
    const bool lost = result.lives < std::exchange(env.lives, result.lives);
    if (lost && config_.life_loss_ends && env.end != End::kCut) env.end = End::kTerminated;
  }
}

void WrappedEnv::EndStep(EnvState& env) {
  env.episode_return += env.reward;
  ++env.length;
  if (!env.over && config_.time_limit > 0 && env.length >= config_.time_limit) {
    env.over = true;
    if (env.end == End::kRunning) env.end = End::kTruncated;
  }
  if (env.over) episodes_.push_back({env.index, env.episode_return, env.length, env.end});
}

// REQUIRES: `env` is not yet reset.
void WrappedEnv::KeepFinal(EnvState& env) {
  finals_.resize(envs_.size() * spec_.row());  // allocates only once
  const auto observation = std::span(finals_).subspan(env.index * spec_.row(), spec_.row());
  Observe(env, false, observation);
  truncated_.push_back({env.index, observation});
}

// Begins an episode in every env that is over.
void WrappedEnv::Restart() {
  // 1. Draw the number of no-ops for each.
  std::vector<std::uint64_t> noops(envs_.size());
  bool any = false;
  for (EnvState& env : envs_) {
    CommandOf(env.index)[0] = env.over ? FrameEnvs::kReset : FrameEnvs::kSkip;
    if (!env.over) continue;
    any = true;
    env.episode_return = 0;
    env.length = 0;
    if (config_.noop_max > 0) {
      noops[env.index] = 1 + env.noops.Below(static_cast<std::uint32_t>(config_.noop_max));
    }
  }
  // 2. Reset them and play the no-ops, all envs together.
  while (any) {
    frames_->Advance(commands_);
    if (while_waiting_) while_waiting_(0);
    any = false;
    for (EnvState& env : envs_) {
      const auto command = CommandOf(env.index);
      if (command[0] == FrameEnvs::kSkip) continue;
      const FrameResult& result = frames_->result(env.index);
      env.lives = result.lives;
      // If the episode ends during its no-ops, or the process is replaced, the next has none.
      if (command[0] != FrameEnvs::kReset && result.end != End::kRunning) {
        command[0] = FrameEnvs::kReset;
        noops[env.index] = 0;
      } else if (noops[env.index] > 0) {
        --noops[env.index];
        std::ranges::copy(noop_, command.begin());
      } else {
        env.over = false;
        command[0] = FrameEnvs::kSkip;
      }
      any |= command[0] != FrameEnvs::kSkip;
    }
  }
}

// Writes the frame to observe into `newest`: with `pool` the maximum of the last two.
void WrappedEnv::Show(const EnvState& env, bool pool, float* newest) {
  const auto show = [&](auto frame, auto before, auto& pooled) {
    if (pool) {
      pooled.resize(frame.size());
      Pool(frame.data(), before.data(), pooled.size(), pooled.data());
      frame = pooled;
    }
    screen_.Show(frame, newest);
  };
  if (frames_->spec().bytes) {
    show(frames_->bytes(env.index), frames_->bytes_before(env.index), pooled_bytes_);
  } else {
    show(frames_->floats(env.index), frames_->floats_before(env.index), pooled_floats_);
  }
}

// `first`: this is the first observation of an episode; all frames of the stack are the same.
void WrappedEnv::Observe(EnvState& env, bool first, std::span<float> out) {
  const std::size_t frames = config_.stack;
  const std::size_t size = out.size() / frames;
  if (frames == 1) return Show(env, config_.max_pool && !first, out.data());
  env.newest = (env.newest + 1) % frames;
  float* const newest = &env.stack[env.newest * size];
  Show(env, config_.max_pool && !first, newest);
  std::vector<const float*> oldest_first;
  for (std::size_t k = 1; k <= frames; ++k) {
    float* const frame = &env.stack[(env.newest + k) % frames * size];
    if (first && frame != newest) std::copy_n(newest, size, frame);
    oldest_first.push_back(frame);
  }
  const std::size_t channels = screen_.spec().channels;
  Interleave(oldest_first, size / channels, channels, out.data());
}

void WrappedEnv::TakeEpisodes(std::vector<EpisodeEnd>& out) {
  out.insert(out.end(), episodes_.begin(), episodes_.end());
  episodes_.clear();
}

void WrappedEnv::Fields(StateBytes& state) {
  if (!frames_->spec().saves) throw StateError(WhyNotSaved());
  state.Tag("wrap");
  state.Same(envs_.size(), "envs");
  state.Same(config_.stack, "env.stack");
  state.Same(spec_.row(), "observed values");
  if (state.reading()) truncated_.clear();
  for (EnvState& env : envs_) {
    state(env.noops);
    state(env.episode_return);
    state(env.length, 0, kLongestEpisode);
    state(env.lives);
    if (config_.stack == 1) continue;
    state(env.newest, 0, config_.stack - 1);
    state.Array(std::span(env.stack));
  }
  EpisodeFields(state, episodes_, size());
  frames_->Fields(state);
}

}  // namespace starling::envs
