// One env of a plug-in, every answer of which is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "envs/bridge/plugin_library.h"
#include "envs/frames.h"

namespace starling::envs {

// Thread safety: none.
class PluginEnv {
 public:
  // The seeds of its episodes derive from `seed`; `called` ("env 3") is for sentences. Throws as
  // Reset.
  PluginEnv(std::shared_ptr<const PluginLibrary> library, std::string called, std::uint64_t seed);
  ~PluginEnv();
  PluginEnv(PluginEnv&& other) noexcept;
  PluginEnv& operator=(PluginEnv&&) = delete;

  // Begins an episode, or plays one step of it, and writes the frame (H, W, C) that is then seen.
  // Throws UserError that names plug-in, env and step if the plug-in fails, throws, or answers
  // what it must not: NaN, infinity, values outside its bounds, more values than it has.
  FrameResult Reset(std::span<float> frame);
  FrameResult Step(std::int32_t action, std::span<float> frame);

 private:
  // Calls into the plug-in; `what` failed if it answers false.
  template <class Call>
  void Ask(const char* what, Call call);
  int Lives();
  void Observe(std::span<float> frame);
  [[noreturn]] void Fail(const std::string& what) const;
  std::string Reason() const;

  std::shared_ptr<const PluginLibrary> library_;
  std::string called_;
  RandomStream seeds_;
  void* env_ = nullptr;
  std::int64_t step_ = 0;    // of the episode; 0 is its reset
  std::vector<float> seen_;  // (H, W, C), and a guard behind it
};

}  // namespace starling::envs
