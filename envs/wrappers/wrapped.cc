#include "envs/wrappers/wrapped.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace starling::envs {

namespace {

// frames (each H * W cells of C channels) to out (H, W, frames * C).
void Interleave(const std::vector<const float*>& frames, std::size_t cells, std::size_t channels,
                float* out) {
  const std::size_t count = frames.size();
  if (count == 4 &&
      channels == 1) {  // everybody's stack: a loop that the compiler makes vectors of
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

bool NeedsWrappers(const EnvConfig& config) {
  return config.noop_max > 0 || config.repeat > 1 || config.life_loss_ends ||
         config.reward_clip > 0 || config.time_limit > 0 || config.pixels || config.stack > 1;
}

EnvSpec WrappedSpec(const FrameSpec& raw, const EnvConfig& config) {
  EnvSpec spec = Screen(raw, config.pixels).spec();
  spec.channels *= static_cast<int>(config.stack);
  return spec;
}

Wrapped::Wrapped(std::unique_ptr<FrameEnvs> frames, const EnvSeed& seed, const EnvConfig& config)
    : config_(config),
      frames_(std::move(frames)),
      screen_(frames_->spec(), config.pixels),
      spec_(WrappedSpec(frames_->spec(), config)) {
  CHECK(frames_->repeat() == RepeatOf(config), "{} frames", frames_->repeat().frames);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(frames_->size()); ++i) {
    envs_.push_back(
        {.noops = RandomStream({seed.seed, seed.slot, seed.incarnation, i, Purpose::kNoop})});
    envs_.back().stack.resize(static_cast<std::size_t>(spec_.obs_size()));
  }
  commands_.resize(envs_.size());
}

void Wrapped::Reset(std::span<float> observations) {
  CHECK(observations.size() == envs_.size() * static_cast<std::size_t>(spec_.obs_size()));
  truncated_.clear();
  for (One& env : envs_) env.over = true;
  Restart();
  const auto row = static_cast<std::size_t>(spec_.obs_size());
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    Observe(i, true, observations.subspan(i * row, row));
  }
}

void Wrapped::Step(std::span<const std::int32_t> actions, std::span<float> observations,
                   std::span<float> rewards, std::span<std::uint8_t> terminals) {
  const auto row = static_cast<std::size_t>(spec_.obs_size());
  CHECK(actions.size() == envs_.size() && observations.size() == envs_.size() * row &&
            rewards.size() == envs_.size() && terminals.size() == envs_.size(),
        "{} actions for {} envs", actions.size(), envs_.size());
  truncated_.clear();
  Play(actions);
  std::vector<std::uint8_t> fresh(envs_.size());
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    EndStep(i);
    fresh[i] = envs_[i].over;
    if (envs_[i].end == End::kTruncated) KeepFinal(i);
    const double clip = config_.reward_clip;
    const double reward = clip > 0 ? std::clamp(envs_[i].reward, -clip, clip) : envs_[i].reward;
    rewards[i] = static_cast<float>(reward);
    terminals[i] = static_cast<std::uint8_t>(envs_[i].end);
  }
  Restart();
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    Observe(i, fresh[i] != 0, observations.subspan(i * row, row));
  }
}

void Wrapped::Play(std::span<const std::int32_t> actions) {
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    CHECK(actions[i] >= 0 && actions[i] < spec_.num_actions, "action {} of env {}, not in [0, {})",
          actions[i], i, spec_.num_actions);
  }
  frames_->Advance(actions, frames_->repeat().frames);
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    One& env = envs_[i];
    const FrameResult& result = frames_->result(static_cast<int>(i));
    env.reward = result.reward;
    env.end = result.end;
    env.over = result.end != End::kRunning;
    const bool lost = result.lives < std::exchange(env.lives, result.lives);
    if (lost && config_.life_loss_ends && env.end != End::kCut) env.end = End::kTerminated;
  }
}

void Wrapped::EndStep(std::size_t i) {
  One& env = envs_[i];
  env.episode_return += env.reward;
  ++env.length;
  if (!env.over && config_.time_limit > 0 && env.length >= config_.time_limit) {
    env.over = true;
    if (env.end == End::kRunning) env.end = End::kTruncated;
  }
  if (!env.over) return;
  episodes_.push_back({static_cast<int>(i), env.episode_return, env.length, env.end});
}

// Before the reset: what would be seen if the episode went on.
void Wrapped::KeepFinal(std::size_t i) {
  const auto row = static_cast<std::size_t>(spec_.obs_size());
  finals_.resize(envs_.size() * row);  // the first time; later it stays as it is
  const auto observation = std::span(finals_).subspan(i * row, row);
  Observe(i, false, observation);
  truncated_.push_back({static_cast<int>(i), observation});
}

void Wrapped::Restart() {
  std::vector<std::uint64_t> noops(envs_.size());
  bool any = false;
  for (std::size_t i = 0; i < envs_.size(); ++i) {
    One& env = envs_[i];
    commands_[i] = env.over ? FrameEnvs::kReset : FrameEnvs::kSkip;
    if (!env.over) continue;
    any = true;
    env.episode_return = 0;
    env.length = 0;
    if (config_.noop_max > 0) {
      noops[i] = 1 + env.noops.Below(static_cast<std::uint32_t>(config_.noop_max));
    }
  }
  while (any) {
    frames_->Advance(commands_);
    any = false;
    for (std::size_t i = 0; i < envs_.size(); ++i) {
      if (commands_[i] == FrameEnvs::kSkip) continue;
      One& env = envs_[i];
      const FrameResult& result = frames_->result(static_cast<int>(i));
      env.lives = result.lives;
      // An episode that ends in its no-ops, or its process in the reset, begins anew without more.
      if (commands_[i] != FrameEnvs::kReset && result.end != End::kRunning) {
        commands_[i] = FrameEnvs::kReset;
        noops[i] = 0;
      } else if (noops[i] > 0) {
        --noops[i];
        commands_[i] = 0;
      } else {
        env.over = false;
        commands_[i] = FrameEnvs::kSkip;
      }
      any |= commands_[i] != FrameEnvs::kSkip;
    }
  }
}

// The frame to be seen, into `newest`.
void Wrapped::Show(std::size_t i, bool pool, float* newest) {
  const auto larger = [](auto a, auto b) { return std::max(a, b); };
  if (frames_->spec().bytes) {
    std::span<const std::uint8_t> frame = frames_->bytes(static_cast<int>(i));
    if (pool) {
      pooled_bytes_.resize(frame.size());
      std::ranges::transform(frame, frames_->bytes_before(static_cast<int>(i)),
                             pooled_bytes_.begin(), larger);
      frame = pooled_bytes_;
    }
    screen_.Show(frame, newest);
  } else {
    std::span<const float> frame = frames_->floats(static_cast<int>(i));
    if (pool) {
      pooled_floats_.resize(frame.size());
      std::ranges::transform(frame, frames_->floats_before(static_cast<int>(i)),
                             pooled_floats_.begin(), larger);
      frame = pooled_floats_;
    }
    screen_.Show(frame, newest);
  }
}

// `first`: of an episode, whose frames are all the same.
void Wrapped::Observe(std::size_t i, bool first, std::span<float> out) {
  const auto frames = static_cast<std::size_t>(config_.stack);
  const std::size_t size = out.size() / frames;
  if (frames == 1) return Show(i, config_.max_pool && !first, out.data());
  One& env = envs_[i];
  env.newest = (env.newest + 1) % frames;
  float* const newest = &env.stack[env.newest * size];
  Show(i, config_.max_pool && !first, newest);
  std::vector<const float*> oldest_first;
  for (std::size_t k = 1; k <= frames; ++k) {
    float* const frame = &env.stack[(env.newest + k) % frames * size];
    if (first && frame != newest) std::copy_n(newest, size, frame);
    oldest_first.push_back(frame);
  }
  const auto channels = static_cast<std::size_t>(screen_.spec().channels);
  Interleave(oldest_first, size / channels, channels, out.data());
}

void Wrapped::TakeEpisodes(std::vector<EpisodeEnd>& out) {
  out.insert(out.end(), episodes_.begin(), episodes_.end());
  episodes_.clear();
}

}  // namespace starling::envs
