#include "envs/bridge/bridge.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/child.h"
#include "core/error.h"
#include "envs/bridge/protocol.h"
#include "envs/bridge/worker_envs.h"

namespace starling::envs {
namespace {

namespace fs = std::filesystem;

std::string IdOf(const EnvConfig& config) {
  CHECK(config.name.starts_with(kGymPrefix), "{}", config.name);
  return config.name.substr(sizeof kGymPrefix - 1);
}

nlohmann::json OptionsOf(const EnvConfig& config) {
  if (config.options.empty()) return nlohmann::json::object();
  // A limit, because copying and writing JSON recurse for each level.
  constexpr int kMaxLevels = 64;
  bool too_deep = false;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    too_deep = too_deep || depth > kMaxLevels;
    return !too_deep;
  };
  const auto options = nlohmann::json::parse(config.options, watch, false);
  if (too_deep) {
    throw UserError(fmt::format("env.options nests deeper than {} levels", kMaxLevels),
                    "env.options");
  }
  if (!options.is_object()) {
    throw UserError(
        fmt::format("env.options: {} is not a JSON object; write the keyword arguments of "
                    "gymnasium.make as in '{{\"continuous\": false}}'",
                    config.options),
        "env.options");
  }
  return options;
}

std::string PythonOf(const EnvConfig& config) {
  std::error_code ignored;
  return FindPython(config.python, fs::read_symlink("/proc/self/exe", ignored).parent_path(),
                    fs::current_path(ignored));
}

WorkerProgram ProgramOf(const EnvConfig& config, const std::string& python) {
  const std::string id = IdOf(config);
  if (id.empty()) {
    throw UserError("env.name: \"gym:\" needs the id of an env, as in \"gym:CartPole-v1\"",
                    "env.name");
  }
  // One thread each: there are at least as many workers as cores.
  return {.argv = {python, "-"},
          .input = kGymWorker,
          .environment = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                          "PYGAME_HIDE_SUPPORT_PROMPT=1"},
          .settings = {{"env", id},
                       {"options", OptionsOf(config)},
                       {"most_numbers", kMaxWorkerNumbers},
                       {"most_actions", kMaxWorkerActions},
                       {"most_entries", kMaxEntries},
                       {"longest_name", kMaxEntryName}},
          .name = config.name};
}

bool Runs(const fs::path& python) { return !FindProgram(python.string()).empty(); }

}  // namespace

std::string FindPython(const std::string& python, const fs::path& program_dir,
                       const fs::path& working_dir) {
  // 1. An interpreter that the user names must exist.
  const char* variable = std::getenv("STARLING_PYTHON");
  const bool named = python != "auto", in_variable = variable != nullptr && *variable != '\0';
  if (named || in_variable) {
    const std::string asked = named ? python : variable;
    if (Runs(asked)) return asked;
    throw UserError(fmt::format("{}: there is no program \"{}\"; give the path of a Python "
                                "interpreter that has gymnasium, or \"auto\" after scripts/setup "
                                "--gym",
                                named ? "env.python" : "$STARLING_PYTHON", asked),
                    named ? "env.python" : "");
  }
  // 2. Otherwise the one that scripts/setup made, or the system's.
  const fs::path in_venv = fs::path(".venv-gym") / "bin" / "python";
  for (const fs::path& root :
       {program_dir.parent_path().parent_path().parent_path(), working_dir}) {
    if (!root.empty() && Runs(root / in_venv)) return (root / in_venv).string();
  }
  if (Runs("python3")) return "python3";
  throw UserError("env.python: there is no Python; run scripts/setup --gym", "env.python");
}

FrameSpec GymSpec(const EnvConfig& config) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::string, std::string>, FrameSpec> specs;
  const std::string python = PythonOf(config);
  const std::lock_guard lock(mutex);
  const auto key = std::make_tuple(config.name, config.options, python);
  const auto found = specs.find(key);
  if (found != specs.end()) return found->second;
  const FrameSpec spec = TryWorker(ProgramOf(config, python), FirstEpisodeLimitS(config.timeout_s),
                                   "fix the env, or check env.python and env.timeout_s");
  return specs.emplace(key, spec).first->second;
}

std::unique_ptr<FrameEnvs> MakeGymFrames(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                         const WhileWaiting& while_waiting) {
  return std::make_unique<WorkerEnvs>(ProgramOf(config, PythonOf(config)), num_envs, seed,
                                      WorkerOptionsOf(config, while_waiting));
}

}  // namespace starling::envs
