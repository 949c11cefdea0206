#include "envs/bridge/python.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "core/child.h"
#include "core/error.h"
#include "envs/bridge/bridge.h"
#include "envs/bridge/worker_envs.h"

namespace starling::envs {
namespace {

namespace fs = std::filesystem;

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
        fmt::format("env.options: {} is not a JSON object; write keyword arguments of the env as "
                    "in '{{\"full_action_space\": true}}'",
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
    throw UserError(
        fmt::format("{}: there is no program \"{}\"; give the path of a Python "
                    "interpreter that has gymnasium or ale_py, or \"auto\" after scripts/setup "
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

WorkerProgram PythonProgram(const EnvConfig& config, const std::string& prefix, const char* example,
                            const char* text, nlohmann::json settings) {
  CHECK(config.name.starts_with(prefix), "{}", config.name);
  const std::string id = config.name.substr(prefix.size());
  if (id.empty()) {
    throw UserError(
        fmt::format("env.name: \"{}\" needs the id of an env, as in \"{}\"", prefix, example),
        "env.name");
  }
  settings["env"] = id;
  settings["name"] = config.name;
  settings["options"] = OptionsOf(config);
  // One thread each: there are at least as many workers as cores.
  return {.argv = {PythonOf(config), "-"},
          .input = text,
          .environment = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                          "PYGAME_HIDE_SUPPORT_PROMPT=1"},
          .settings = std::move(settings),
          .name = config.name};
}

FrameSpec PythonSpec(const EnvConfig& config, const WorkerProgram& program) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, FrameSpec> specs;
  const std::lock_guard lock(mutex);
  const auto key = std::make_pair(program.argv[0], program.settings.dump());
  const auto found = specs.find(key);
  if (found != specs.end()) return found->second;
  const FrameSpec spec = TryWorker(program, FirstEpisodeLimitS(config.timeout_s),
                                   "fix the env, or check env.python and env.timeout_s");
  return specs.emplace(key, spec).first->second;
}

}  // namespace starling::envs
