#include "envs/bridge/plugin_library.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"

namespace starling::envs {
namespace {

constexpr std::size_t kGuard = 64;                // floats after an observation, to detect overruns
constexpr std::uint64_t kMaxState = 64 << 20;     // bytes
constexpr std::size_t kMaxReason = 500;           // bytes of a plug-in's own sentence
constexpr std::uint32_t kGuardBits = 0xffc5ca11;  // a NaN with an unlikely payload
constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

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
      seen_(library_->spec.env.row() + kGuard, std::bit_cast<float>(kGuardBits)) {
  Ask("create", [&] { return (env_ = library_->table.create()) != nullptr; });
}

PluginEnv::PluginEnv(PluginEnv&& other) noexcept
    : library_(other.library_),
      called_(std::move(other.called_)),
      seeds_(other.seeds_),
      env_(std::exchange(other.env_, nullptr)),
      step_(other.step_),
      begun_(other.begun_),
      seen_(std::move(other.seen_)) {}

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
  Observe(frame);
  return result;
}

FrameResult PluginEnv::Step(std::int32_t action, std::span<float> frame) {
  ++step_;
  float reward = 0;
  std::int32_t end = STARLING_RUNNING;
  Ask("step", [&] { return library_->table.step(env_, action, &reward, &end) == 0; });
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
  Observe(frame);
  return result;
}

void PluginEnv::Fields(StateBytes& state) {
  const starling_env_v1& table = library_->table;
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

void PluginEnv::Observe(std::span<float> frame) {
  const EnvSpec& spec = library_->spec.env;
  CHECK(frame.size() == spec.row(), "a frame of {}", frame.size());
  // 1. Call it, with NaN in place of the last frame, so that unwritten values are found.
  const std::span seen = std::span(seen_).first(frame.size());
  std::ranges::fill(seen, kUnwritten);
  Ask("observe", [&] { return library_->table.observe(env_, seen_.data()) == 0; });
  const auto touched = [](float v) { return std::bit_cast<std::uint32_t>(v) != kGuardBits; };
  if (std::ranges::any_of(std::span(seen_).subspan(seen.size()), touched)) {
    Fail(fmt::format("observe wrote more than its {} values", seen.size()));
  }
  // 2. Check the values. Counting can be vectorised, a search cannot. A NaN is outside, too.
  const auto within = [&](float v) { return v >= spec.low && v <= spec.high; };
  std::size_t outside = 0;
  for (const float value : seen) outside += !within(value);
  if (outside > 0) {
    const auto bad = std::ranges::find_if_not(seen, within);
    const std::string which = fmt::format("observed value {} is {}", bad - seen.begin(), *bad);
    Fail(std::isfinite(*bad) ? fmt::format("{}, outside of {} to {}", which, spec.low, spec.high)
                             : fmt::format("{}, which is not finite (or was not written)", which));
  }
  std::ranges::copy(seen, frame.begin());
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
