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

constexpr double kStartTimeoutS = 60;  // to load a library and make its envs

std::string PathOf(const EnvConfig& config) {
  const std::size_t prefix = sizeof kPluginPrefix - 1;
  CHECK(config.name.starts_with(kPluginPrefix), "{}", config.name);
  return config.name.substr(prefix);
}

double StickyOf(const EnvConfig& config) { return std::max(0.0, config.sticky_actions); }

std::shared_ptr<const PluginLibrary> Load(const EnvConfig& config) {
  return std::make_shared<PluginLibrary>(LoadPlugin(PathOf(config)));
}

// The envs of a plug-in that plays in this process.
class PluginFrames final : public FrameEnvs {
 public:
  PluginFrames(std::shared_ptr<const PluginLibrary> library, int num_envs, const EnvSeed& seed,
               double sticky)
      : spec_(library->spec), sticky_(num_envs, seed, sticky) {
    for (int i = 0; i < num_envs; ++i) {
      RandomStream stream({.seed = seed.seed,
                           .slot = seed.slot,
                           .incarnation = seed.incarnation,
                           .env = static_cast<std::uint32_t>(i),
                           .purpose = Purpose::kEnv});
      envs_.emplace_back(library, fmt::format("env {}", i), WorkerSeed(stream));
    }
    results_.resize(envs_.size());
    frames_.resize(envs_.size() * row());
  }

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }

  void Advance(std::span<const std::int32_t> commands) override {
    CHECK(commands.size() == envs_.size(), "{} commands", commands.size());
    try {
      for (std::size_t i = 0; i < envs_.size(); ++i) {
        if (commands[i] != kSkip) Obey(i, commands[i]);
      }
    } catch (const UserError& error) {
      throw UserError(
          fmt::format("{}; mend it, or set env.isolate = true so that this costs an episode only",
                      error.what()));
    }
  }

  const FrameResult& result(int env) const override {
    return results_[static_cast<std::size_t>(env)];
  }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override {
    return std::span(frames_).subspan(static_cast<std::size_t>(env) * row(), row());
  }

 private:
  void Obey(std::size_t i, std::int32_t command) {
    const std::span frame = std::span(frames_).subspan(i * row(), row());
    if (command == kReset) {
      results_[i] = envs_[i].Reset(frame);
      return;
    }
    CHECK(command >= 0 && command < spec_.env.num_actions, "command {}", command);
    results_[i] = envs_[i].Step(sticky_.Play(static_cast<int>(i), command), frame);
  }

  std::size_t row() const { return static_cast<std::size_t>(spec_.env.obs_size()); }

  FrameSpec spec_;
  StickyActions sticky_;
  std::vector<PluginEnv> envs_;
  std::vector<FrameResult> results_;
  std::vector<float> frames_;  // (B, H, W, C)
};

WorkerProgram ProgramOf(const EnvConfig& config) {
  const nlohmann::json settings = {{"plugin", PathOf(config)}};
  return {.argv = {EnvWorkerProgram()},
          // A path may be no UTF-8; then there is no such file.
          .settings = settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          .name = config.name};
}

void RefuseIf(const std::optional<Trouble>& trouble, const EnvConfig& config) {
  if (!trouble) return;
  if (trouble->mistake) throw UserError(trouble->what);
  throw UserError(fmt::format(
      "plugin \"{}\": the process it was tried in, before anything starts, {}{}: mend the plug-in",
      PathOf(config), trouble->what,
      trouble->last_words.empty() ? "" : fmt::format(" ({})", trouble->last_words)));
}

FrameSpec IsolatedSpec(const EnvConfig& config) {
  const std::vector<std::uint64_t> seeds = {0};
  const std::vector<std::int32_t> reset = {FrameEnvs::kReset};
  Worker worker(ProgramOf(config), seeds);
  RefuseIf(worker.Join(kStartTimeoutS), config);
  worker.Play(reset);
  RefuseIf(worker.Take(config.timeout_s), config);
  return worker.spec();
}

}  // namespace

FrameSpec PluginSpec(const EnvConfig& config) {
  if (config.isolate) return IsolatedSpec(config);
  const auto library = Load(config);
  std::vector<float> frame(static_cast<std::size_t>(library->spec.env.obs_size()));
  PluginEnv(library, "env 0", 0).Reset(frame);
  return library->spec;
}

std::unique_ptr<FrameEnvs> MakePluginFrames(const EnvConfig& config, int num_envs,
                                            const EnvSeed& seed,
                                            const WhileWaiting& while_waiting) {
  if (!config.isolate) {
    return std::make_unique<PluginFrames>(Load(config), num_envs, seed, StickyOf(config));
  }
  return std::make_unique<WorkerEnvs>(
      ProgramOf(config), num_envs, seed,
      WorkerOptions{.per_process = static_cast<int>(config.per_process),
                    .timeout_s = config.timeout_s,
                    .start_timeout_s = kStartTimeoutS,
                    .sticky_actions = StickyOf(config),
                    .while_waiting = while_waiting});
}

std::string EnvWorkerProgram() {
  namespace fs = std::filesystem;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {here, here.parent_path() / "bin"}) {
    const fs::path program = folder / "starling-env-worker";
    std::error_code absent;
    if (fs::is_regular_file(program, absent)) return program.string();
  }
  throw UserError(fmt::format(
      "env.isolate plays in the program starling-env-worker, which is not in {}: build it there",
      here.string()));
}

}  // namespace starling::envs
