#include "envs/bridge/bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/plugin_library.h"
#include "envs/bridge/worker.h"
#include "envs/bridge/worker_envs.h"
#include "envs/sticky.h"

namespace starling::envs {
namespace {

std::string PathOf(const EnvConfig& config) {
  const std::size_t prefix = sizeof kPluginPrefix - 1;
  CHECK(config.name.starts_with(kPluginPrefix), "{}", config.name);
  return config.name.substr(prefix);
}

std::shared_ptr<const PluginLibrary> Load(const EnvConfig& config) {
  return std::make_shared<PluginLibrary>(LoadPlugin(PathOf(config)));
}

// The envs of a plug-in, played in this process.
class PluginFrames final : public FramesHere {
 public:
  PluginFrames(std::shared_ptr<const PluginLibrary> library, const EnvConfig& config, int num_envs,
               const EnvSeed& seed)
      : FramesHere(num_envs, library->spec, config),
        sticky_(num_envs, seed, StickyChance(config), library->spec.env.actions) {
    for (int i = 0; i < num_envs; ++i) {
      RandomStream stream(seed.Stream(envs_.size(), Purpose::kEnv));
      envs_.emplace_back(library, fmt::format("env {}", seed.first + envs_.size()),
                         WorkerSeed(stream));
    }
  }

  void Fields(StateBytes& state) override {
    state.Tag("plgs");
    FramesHere::Fields(state);
    FrameFields(state);
    sticky_.Fields(state);
    try {
      for (PluginEnv& env : envs_) env.Fields(state);
    } catch (const UserError& error) {
      throw StateError(error.what());
    }
  }

 private:
  void Play(std::span<const std::int32_t> commands, int frames) override {
    try {
      FramesHere::Play(commands, frames);
    } catch (const UserError& error) {
      throw UserError(fmt::format(
          "{}; fix it, or set env.isolate = true so that a failure costs only an episode",
          error.what()));
    }
  }

  FrameResult Obey(int i, std::span<const std::int32_t> command, int frames) override {
    PluginEnv& env = envs_[i];
    if (command[0] == kReset) return env.Reset(NextFrame(i));
    actions_.resize(frames * command.size());
    sticky_.Draw(i, command, actions_);
    const std::span<const std::int32_t> drawn = actions_;
    auto left = drawn;
    const FrameResult result = PlayRepeated(repeat(), frames, this->result(i).lives, [&] {
      const auto action = left.first(command.size());
      left = left.subspan(command.size());
      return env.Step(action, NextFrame(i));
    });
    sticky_.Played(i, drawn.first(drawn.size() - left.size()));
    return result;
  }

  StickyActions sticky_;
  std::vector<PluginEnv> envs_;
  std::vector<std::int32_t> actions_;  // (frames, width()), of one env's Advance
};

WorkerProgram ProgramOf(const EnvConfig& config) {
  return {.argv = {EnvWorkerProgram()},
          // A path that is not UTF-8 becomes one that does not exist.
          .settings = {{"plugin", PathOf(config)}},
          .name = config.name};
}

}  // namespace

FrameSpec PluginSpec(const EnvConfig& config) {
  if (config.isolate) {
    return TryWorker(ProgramOf(config), FirstEpisodeLimitS(config.timeout_s),
                     "fix the plug-in, or check env.timeout_s");
  }
  const auto library = Load(config);
  std::vector<float> frame(library->spec.env.row());
  PluginEnv(library, "env 0", 0).Reset(frame);
  return library->spec;
}

std::unique_ptr<FrameEnvs> MakePluginFrames(const EnvConfig& config, int num_envs,
                                            const EnvSeed& seed,
                                            const WhileWaiting& while_waiting) {
  if (!config.isolate) {
    return std::make_unique<PluginFrames>(Load(config), config, num_envs, seed);
  }
  return std::make_unique<WorkerEnvs>(ProgramOf(config), num_envs, seed,
                                      WorkerOptionsOf(config, while_waiting));
}

std::string EnvWorkerProgram() {
  namespace fs = std::filesystem;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {here, here.parent_path() / "bin"}) {
    const fs::path program = folder / "starling-env-worker";
    std::error_code absent;
    if (fs::is_regular_file(program, absent)) return program.string();
  }
  throw UserError(fmt::format("env.isolate plays in the program starling-env-worker, which is not "
                              "in {}: build it there",
                              here.string()),
                  "env.isolate");
}

}  // namespace starling::envs
