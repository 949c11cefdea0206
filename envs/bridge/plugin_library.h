// A user's shared library (envs/plugin.h), loaded and checked, and its envs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "envs/bridge/bridge.h"  // kPluginPrefix
#include "envs/frames.h"
#include "envs/plugin.h"

namespace starling::envs {

// A loaded plug-in. The library stays loaded until the process ends, because thread-local objects
// and exit handlers may still need its code.
struct PluginLibrary {
  std::string called;       // `plugin "./mine.so"`, for sentences
  starling_env_v1 table{};  // a copy; members that the plug-in does not know are null
  FrameSpec spec;           // spec.env.name is kPluginPrefix and the path
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

// Checks `table`, the result of starling_env(), against envs/plugin.h. Throws UserError with the
// member's name: another abi_version, a table that is too short, missing functions, sizes, bounds
// or actions out of their ranges, missing or unterminated names.
PluginLibrary CheckPluginTable(const std::string& path, const starling_env_v1* table);

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

  // Begins an episode, or plays one step of it, and writes the frame (H, W, C). Throws UserError
  // with plug-in, env and step if the plug-in fails, throws, or gives a forbidden answer: NaN,
  // infinity, values outside its bounds, more values than a frame has.
  FrameResult Reset(std::span<float> frame);
  FrameResult Step(std::int32_t action, std::span<float> frame);

  // Its state and that of its seeds. Throws UserError as Reset if the plug-in fails, StateError if
  // the bytes are no state. REQUIRES: library->spec.saves.
  void Fields(StateBytes& state);

 private:
  // Calls the plug-in's `function`. Throws if `call` returns false or throws.
  template <class Call>
  void Ask(const char* function, Call call);
  int Lives();
  void Observe(std::span<float> frame);
  [[noreturn]] void Fail(const std::string& error) const;
  std::string Reason() const;
  void Save(std::vector<std::byte>& state);

  std::shared_ptr<const PluginLibrary> library_;
  std::string called_;
  RandomStream seeds_;
  void* env_ = nullptr;
  std::int64_t step_ = 0;    // of the episode; 0 is its reset
  bool begun_ = false;       // it has been reset or restored
  std::vector<float> seen_;  // (H, W, C), then the guard
};

}  // namespace starling::envs
