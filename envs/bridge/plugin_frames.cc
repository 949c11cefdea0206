#include "envs/bridge/plugin_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "envs/bridge/plugin_env.h"
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
class PluginFrames final : public FrameEnvs {
 public:
  PluginFrames(std::shared_ptr<const PluginLibrary> library, const EnvConfig& config, int num_envs,
               const EnvSeed& seed)
      : FrameEnvs(RepeatOf(config)),
        spec_(library->spec),
        sticky_(num_envs, seed, StickyChance(config)),
        results_(static_cast<std::size_t>(num_envs)),
        frames_(results_.size(), spec_.env.row(), repeat().keep_before) {
    for (int i = 0; i < num_envs; ++i) {
      RandomStream stream(seed.Stream(envs_.size(), Purpose::kEnv));
      envs_.emplace_back(library, fmt::format("env {}", i), WorkerSeed(stream));
    }
  }

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }
  const FrameResult& result(int env) const override { return At(results_, env); }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override { return frames_.newest(env); }
  std::span<const float> floats_before(int env) const override { return frames_.before(env); }

 private:
  void Play(std::span<const std::int32_t> commands, int frames) override {
    try {
      for (int i = 0; i < size(); ++i) {
        const std::int32_t command = At(commands, i);
        if (command != kSkip) At(results_, i) = Obey(i, command, frames);
      }
    } catch (const UserError& error) {
      throw UserError(fmt::format(
          "{}; fix it, or set env.isolate = true so that a failure costs only an episode",
          error.what()));
    }
  }

  FrameResult Obey(int i, std::int32_t command, int frames) {
    PluginEnv& env = At(envs_, i);
    if (command == kReset) return env.Reset(frames_.Next(i));
    CHECK(command >= 0 && command < spec_.env.num_actions, "command {}", command);
    actions_.resize(static_cast<std::size_t>(frames));
    sticky_.Play(i, command, actions_);
    auto action = actions_.begin();
    return PlayRepeated(repeat(), frames, result(i).lives,
                        [&] { return env.Step(*action++, frames_.Next(i)); });
  }

  FrameSpec spec_;
  StickyActions sticky_;
  std::vector<PluginEnv> envs_;
  std::vector<FrameResult> results_;
  KeptFrames<float> frames_;
  std::vector<std::int32_t> actions_;  // for the frames of one env's Advance
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
