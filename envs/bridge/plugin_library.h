// A user's shared library (envs/plugin.h), loaded and checked, and its envs.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "envs/bridge/bridge.h"  // kPluginPrefix
#include "envs/frames.h"
#include "envs/plugin.h"

namespace starling::envs {

// Throws errors about one plug-in.
class PluginRefusal {
 public:
  explicit PluginRefusal(std::string called) : called_(std::move(called)) {}

  template <class... Args>
  [[noreturn]] void operator()(fmt::format_string<Args...> text, Args&&... args) const {
    throw UserError(called_ + ": " + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  const std::string called_;
};

// `plugin "PATH"`, for sentences.
inline std::string CalledPlugin(const std::string& path) {
  return fmt::format("plugin \"{}\"", path);
}

// A loaded plug-in, of either version. The library stays loaded until the process ends, because
// thread-local objects and exit handlers may still need its code.
struct PluginLibrary {
  using FirstStep = std::int32_t (*)(void*, std::int32_t, float*, std::int32_t*);

  std::string called;  // CalledPlugin(path)
  // The functions and the name, as version 2 has them. Functions that the plug-in does not have are
  // null, and so are the arrays, which are in `entries` and `spec`.
  starling_env_v2 table{};
  FirstStep first_step = nullptr;         // of version 1, instead of table.step
  std::vector<ObservationEntry> entries;  // spec.env.entries; one, maybe without a name, if empty
  FrameSpec spec;                         // spec.env.name is kPluginPrefix and the path

  std::int32_t Step(void* env, const starling_action* action, float* reward,
                    std::int32_t* end) const {
    return first_step != nullptr ? first_step(env, action->choice, reward, end)
                                 : table.step(env, action, reward, end);
  }
};

// A call into a plug-in. If it calls exit(3) meanwhile, the process ends with a sentence and
// kExitUserError: the status that the plug-in gives, often 0, would pass for ours.
//
// Thread safety: one per thread. The strings must outlive it.
class PluginCall {
 public:
  PluginCall(const std::string& called, const char* function);
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;
};

// Loads the library at `path`, relative to the current directory. Throws UserError (no such file,
// not a shared library, no starling_env()), and as CheckPluginTable.
PluginLibrary LoadPlugin(const std::string& path);

// Checks `table`, the result of starling_env(), against envs/plugin.h: a starling_env_v1 or
// starling_env_v2. Throws UserError with the member's name: another abi_version, a table that is
// too short, missing functions, sizes, bounds or actions out of their ranges, missing or
// unterminated names, members that the kind of action has no use for.
PluginLibrary CheckPluginTable(const std::string& path, const void* table);

// One env of a plug-in, with every answer checked.
//
// Thread safety: none.
class PluginEnv {
 public:
  // Episode seeds derive from `seed`. `called` ("env 3") is for error messages. Throws as Reset.
  PluginEnv(std::shared_ptr<const PluginLibrary> library, std::string called, std::uint64_t seed);
  ~PluginEnv();
  PluginEnv(PluginEnv&& other) noexcept;
  PluginEnv& operator=(PluginEnv&&) = delete;

  // Begins an episode, or plays one step of it, and writes the frame (spec.env.row()). Throws
  // UserError with plug-in, env and step if the plug-in fails, throws, or gives a forbidden answer:
  // NaN, infinity, values outside their bounds, more values than a frame has, a mask that allows
  // nothing. action (width()): words of an action of spec.env.actions.
  FrameResult Reset(std::span<float> frame);
  FrameResult Step(std::span<const std::int32_t> action, std::span<float> frame);

  // Its state and that of its seeds. Throws UserError as Reset if the plug-in fails, StateError if
  // the bytes are no state. REQUIRES: library->spec.saves.
  void Fields(StateBytes& state);

 private:
  // Calls the plug-in's `function`. Throws if `call` returns false or throws.
  template <class Call>
  void Ask(const char* function, Call call);
  int Lives();
  // Writes a frame: the observation, then the mask. `over`: the episode has just terminated.
  void Show(std::span<float> frame, bool over);
  void Observe(std::span<float> values);
  void Mask(std::span<float> mask, bool over);
  void CheckValues(const ObservationEntry& entry, std::span<const float> values) const;
  [[noreturn]] void Fail(const std::string& error) const;
  std::string Reason() const;
  void Save(std::vector<std::byte>& state);

  std::shared_ptr<const PluginLibrary> library_;
  std::string called_;
  RandomStream seeds_;
  void* env_ = nullptr;
  std::int64_t step_ = 0;                // of the episode; 0 is its reset
  bool begun_ = false;                   // it has been reset or restored
  std::vector<starling_action> action_;  // (width())
  std::vector<float> seen_;              // the observation, then the guard
  std::vector<std::uint8_t> allowed_;    // the mask, then the guard
};

}  // namespace starling::envs
