#include "envs/bridge/plugin_library.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

constexpr std::size_t kGuard = 64;                // numbers behind an array, to detect overruns
constexpr std::uint64_t kMaxState = 64 << 20;     // bytes
constexpr std::size_t kMaxReason = 500;           // bytes of a plug-in's own sentence
constexpr std::uint32_t kGuardBits = 0xffc5ca11;  // a NaN with an unlikely payload
constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint8_t kGuardByte = 0xca, kUnwrittenByte = 0xa5;

// A plug-in's text for an error message; it may be unterminated.
std::string Quoted(const char* text) {
  return OneLine({text, ::strnlen(text, kMaxReason + 1)}, kMaxReason);
}

}  // namespace

PluginEnv::PluginEnv(std::shared_ptr<const PluginLibrary> library, std::string called,
                     std::uint64_t seed)
    : library_(std::move(library)),
      called_(std::move(called)),
      seeds_({.seed = seed, .purpose = Purpose::kEnv}),
      action_(library_->spec.env.actions.width()),
      seen_(library_->spec.env.obs_size() + kGuard, std::bit_cast<float>(kGuardBits)),
      allowed_(library_->spec.env.actions.mask() + kGuard, kGuardByte) {
  Ask("create", [&] { return (env_ = library_->table.create()) != nullptr; });
}

PluginEnv::PluginEnv(PluginEnv&& other) noexcept
    : library_(other.library_),
      called_(std::move(other.called_)),
      seeds_(other.seeds_),
      env_(std::exchange(other.env_, nullptr)),
      step_(other.step_),
      begun_(other.begun_),
      action_(std::move(other.action_)),
      seen_(std::move(other.seen_)),
      allowed_(std::move(other.allowed_)) {}

PluginEnv::~PluginEnv() {
  if (env_ == nullptr) return;
  try {
    library_->table.destroy(env_);
  } catch (...) {
    // A destructor cannot report it.
  }
}

FrameResult PluginEnv::Reset(std::span<float> frame) {
  step_ = 0;
  begun_ = true;
  const std::uint64_t high = seeds_.Bits(), low = seeds_.Bits();
  Ask("reset", [&] { return library_->table.reset(env_, high << 32 | low) == 0; });
  const FrameResult result{.lives = Lives()};
  Show(frame, false);
  return result;
}

FrameResult PluginEnv::Step(std::span<const std::int32_t> action, std::span<float> frame) {
  CHECK(action.size() == action_.size(), "an action of {} words", action.size());
  std::memcpy(action_.data(), action.data(), action.size_bytes());
  ++step_;
  float reward = 0;
  std::int32_t end = STARLING_RUNNING;
  Ask("step", [&] { return library_->Step(env_, action_.data(), &reward, &end) == 0; });
  if (!std::isfinite(reward)) {
    Fail(fmt::format("the reward is {}, which is not finite", reward));
  }
  if (end != STARLING_RUNNING && end != STARLING_TERMINATED && end != STARLING_TRUNCATED) {
    Fail(
        fmt::format("its end is {}, not one of STARLING_RUNNING, STARLING_TERMINATED and "
                    "STARLING_TRUNCATED",
                    end));
  }
  const FrameResult result{.reward = reward, .end = static_cast<End>(end), .lives = Lives()};
  Show(frame, result.end == End::kTerminated);
  return result;
}

void PluginEnv::Fields(StateBytes& state) {
  const starling_env_v2& table = library_->table;
  state.Tag("plug");
  state.Same(std::string(table.name), "the plug-in's name");
  state(seeds_);
  state(step_, 0, kLongestEpisode);
  state(begun_);
  if (!begun_) return;
  std::vector<std::byte> bytes;
  if (!state.reading()) Save(bytes);
  state.Bytes(bytes);
  if (!state.reading()) return;
  Ask("restore", [&] { return table.restore(env_, bytes.data(), bytes.size()) == 0; });
}

// The plug-in names the size that it needs.
void PluginEnv::Save(std::vector<std::byte>& state) {
  std::uint64_t size = 0;
  do {
    state.resize(size);
    Ask("save", [&] { return library_->table.save(env_, state.data(), state.size(), &size) == 0; });
    if (size > kMaxState) Fail(fmt::format("save asks for {} bytes: at most {}", size, kMaxState));
  } while (size > state.size());
  state.resize(size);
}

template <class Call>
void PluginEnv::Ask(const char* function, Call call) {
  bool good = false;
  std::string thrown;
  try {
    const PluginCall guard(library_->called, function);
    good = call();
  } catch (const std::exception& error) {
    thrown = Quoted(error.what());
  } catch (...) {
    thrown = "no std::exception";
  }
  if (good) return;
  Fail(thrown.empty() ? fmt::format("{} failed{}", function, Reason())
                      : fmt::format("{} threw an exception ({})", function, thrown));
}

int PluginEnv::Lives() {
  if (library_->table.lives == nullptr) return 0;
  std::int32_t lives = 0;
  Ask("lives", [&] { return (lives = library_->table.lives(env_)) >= 0; });
  return lives;
}

void PluginEnv::Show(std::span<float> frame, bool over) {
  const EnvSpec& spec = library_->spec.env;
  CHECK(frame.size() == spec.row(), "a frame of {}", frame.size());
  Observe(frame.first(spec.obs_size()));
  if (spec.actions.masked) Mask(frame.subspan(spec.obs_size()), over);
}

void PluginEnv::Observe(std::span<float> values) {
  // 1. Call it, with NaN in place of the last observation, so that unwritten values are found.
  const std::span seen = std::span(seen_).first(values.size());
  std::ranges::fill(seen, kUnwritten);
  Ask("observe", [&] { return library_->table.observe(env_, seen_.data()) == 0; });
  const auto touched = [](float v) { return std::bit_cast<std::uint32_t>(v) != kGuardBits; };
  if (std::ranges::any_of(std::span(seen_).subspan(seen.size()), touched)) {
    Fail(fmt::format("observe wrote more than its {} values", seen.size()));
  }
  // 2. Check each array by its own bounds.
  std::span<const float> left = seen;
  for (const ObservationEntry& entry : library_->entries) {
    CheckValues(entry, left.first(entry.size()));
    left = left.subspan(entry.size());
  }
  std::ranges::copy(seen, values.begin());
}

// Counting can be vectorised, a search cannot. A NaN is outside, too.
void PluginEnv::CheckValues(const ObservationEntry& entry, std::span<const float> values) const {
  const float low = entry.low, high = entry.high;
  const auto within = [=](float v) { return v >= low && v <= high; };
  std::size_t outside = 0;
  for (const float value : values) outside += !within(value);
  if (outside == 0) return;
  const auto bad = std::ranges::find_if_not(values, within);
  const std::string of = entry.name.empty() ? "" : fmt::format(" of \"{}\"", entry.name);
  const std::string which =
      fmt::format("observed value {}{} is {}", bad - values.begin(), of, *bad);
  Fail(std::isfinite(*bad) ? fmt::format("{}, outside of {} to {}", which, low, high)
                           : fmt::format("{}, which is not finite (or was not written)", which));
}

void PluginEnv::Mask(std::span<float> mask, bool over) {
  // 1. Call it, with bytes in place of the last mask that none has.
  const std::span allowed = std::span(allowed_).first(mask.size());
  std::ranges::fill(allowed, kUnwrittenByte);
  Ask("mask", [&] { return library_->table.mask(env_, allowed_.data()) == 0; });
  const auto touched = [](std::uint8_t byte) { return byte != kGuardByte; };
  if (std::ranges::any_of(std::span(allowed_).subspan(allowed.size()), touched)) {
    Fail(fmt::format("mask wrote more than its {} bytes", allowed.size()));
  }
  // 2. Check that it is one, and leaves a choice while the episode goes on.
  const auto bad = std::ranges::find_if(allowed, [](std::uint8_t byte) { return byte > 1; });
  if (bad != allowed.end()) {
    Fail(fmt::format("byte {} of the mask is {}, neither 0 nor 1 (or was not written)",
                     bad - allowed.begin(), *bad));
  }
  std::span<const std::uint8_t> left = allowed;
  for (std::size_t k = 0; !over && k < action_.size(); ++k) {
    const auto values = left.first(library_->spec.env.actions.counts[k]);
    if (std::ranges::find(values, 1) == values.end()) {
      Fail(
          fmt::format("the mask forbids every value of choice {}: only an episode that has "
                      "terminated needs none",
                      k));
    }
    left = left.subspan(values.size());
  }
  std::ranges::copy(allowed, mask.begin());
}

void PluginEnv::Fail(const std::string& error) const {
  throw UserError(fmt::format("{} ({}), {}, step {}: {}", library_->called, library_->table.name,
                              called_, step_, error));
}

// The plug-in's own sentence about a failure: ": its text", or "".
std::string PluginEnv::Reason() const {
  if (library_->table.error == nullptr) return "";
  try {
    const char* text = library_->table.error(env_);
    if (text != nullptr && *text != '\0') return ": " + Quoted(text);
  } catch (...) {
    // The failure is reported without a reason.
  }
  return "";
}

}  // namespace starling::envs
