// starling-actor: one actor, or the evaluator, an actor that never pushes. `starling train` starts
// it; by hand it may start before or after the learner. In a run of an external net it becomes a
// program of the user's.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "actors/actor.h"
#include "actors/learner_place.h"
#include "actors/own_program.h"
#include "core/child.h"
#include "core/config/config.h"
#include "core/config/config_schema.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/version.h"
#include "fleet/eval_process.h"
#include "programs/checks.h"

namespace {

using namespace starling;
namespace fs = std::filesystem;

struct Options {
  actors::LearnerPlace place;
  std::int64_t slot = -1;
  int parent = 0;
  double connect_timeout_s = WireConfig{}.connect_timeout_s;
  std::vector<std::string> overrides;
  actors::OwnSettings own;
  std::vector<std::string> program;  // to become
  bool evaluate = false, finish = false, stay = false;
};

// The keys of the run directory that choose code of this machine.
actors::OwnEnv EnvOfRun(const std::string& run_dir) {
  const EnvConfig env = LoadConfig(run_dir + "/config.toml").env;
  return {.name = env.name, .python = env.python, .options = env.options};
}

// The limits of actors.envs_per_actor.
CLI::Validator EnvsCheck() {
  const auto& range = std::get<IntegerRule>(FindConfigKey("actors", "envs_per_actor")->rule);
  return programs::IsInteger(range.low, range.high).description("");
}

// The words of the program that computes the gradients of an external net: those of the command
// line, else actors.command of the run directory, if it is there. Empty: this is an actor of ours,
// or the learner will say that it is none.
std::vector<std::string> OwnProgram(const Options& options) {
  const fs::path run_dir = options.place.run_dir, file = options.place.endpoint_file;
  if (!options.program.empty() || !options.place.endpoint.empty()) return options.program;
  if (run_dir.empty() && file.filename() != "endpoint") return {};
  try {
    const fs::path config = (run_dir.empty() ? file.parent_path() : run_dir) / "config.toml";
    std::error_code ignored;
    if (!fs::exists(config, ignored)) return {};
    return LoadConfig(config).actors.command;
  } catch (const UserError&) {
    if (run_dir.empty()) return {};  // it need not be a run's
    throw;
  }
}

// Replaces this process by the program, and names the learner to it. Throws UserError if it cannot
// be run.
[[noreturn]] void RunInstead(const std::vector<std::string>& program, const Options& options) {
  if (options.own.envs > 0 || options.own.backend || !options.overrides.empty() || options.stay) {
    throw UserError(fmt::format(
        "this actor is {}, a program of an external net, which knows nothing of --backend, --envs, "
        "--set and --stay",
        program.front()));
  }
  LogInfo("this actor is {}", fmt::join(program, " "));
  const int error =
      Become(actors::OwnProgramSpec(program, {.place = options.place,
                                              .slot = options.slot,
                                              .connect_timeout_s = options.connect_timeout_s}));
  throw UserError(fmt::format("{} cannot be run: {}", program.front(), ::strerror(error)));
}

// Only on a place that a person has named is there more to say than that it takes time.
void NoteWaiting(const Options& options, std::int64_t left_ms) {
  if (!options.place.run_dir.empty()) return;
  LogInfo("no learner yet at {}: waiting for another {} s at most{}", options.place.text(),
          left_ms / 1000, actors::WhyNoLearner(options.place, "--secret", "--learner-key"));
}

int Run(const Options& options) {
  KeepFreedMemory();
  InitLog(options.slot < 0 ? "actor" : "actor " + std::to_string(options.slot));
  const std::vector<std::string> program = OwnProgram(options);
  if (!program.empty()) RunInstead(program, options);
  actors::ClientOptions client{
      .find_endpoint = actors::EndpointFinder(options.place),
      .find_keys = actors::KeysFinder(options.place),
      .slot = options.slot,
      .connect_timeout_s = options.connect_timeout_s,
      .stays = options.stay,
      .stop_fd = CatchStopSignals(),
      .abandoned = WatchParent(options.parent),
      .on_waiting = [&](std::int64_t left_ms) { NoteWaiting(options, left_ms); }};
  // Becomes an exit status: only a lost or refusing learner is a failure.
  std::string text;
  switch (actors::RunActor(client, text, options.own)) {
    case actors::ClientState::kRunOver:
      LogInfo("{}", text);
      return kExitDone;
    case actors::ClientState::kStopped:
      return options.stay ? kExitInterrupted : kExitDone;
    case actors::ClientState::kRefused:
      LogError("the learner refused: {}", text);
      return kExitFailed;
    default:
      LogError("no learner within {} s at {}; start one, or give --connect-timeout{}",
               options.connect_timeout_s, options.place.text(),
               actors::WhyNoLearner(options.place, "--secret", "--learner-key"));
      return kExitFailed;
  }
}

int Evaluate(const Options& options) {
  InitLog("evaluator");
  constexpr int kLowestPriority = 19;  // training takes precedence
  ::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  fleet::RunEvalProcess({.run_dir = options.place.run_dir,
                         .finish = options.finish,
                         .stop_fd = CatchStopSignals(),
                         .abandoned = WatchParent(options.parent)});
  return kExitDone;
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  Options options;
  CLI::App app("One actor: runs environments and pushes gradients to a learner; or its evaluator.",
               "starling-actor");
  app.set_version_flag("--version", VersionLine("starling-actor"));
  // 1. The place of the learner: a run directory, an endpoint, or a file with one.
  auto* dir =
      app.add_option("--run-dir", options.place.run_dir, "run directory of a learner on this host")
          ->transform(programs::IsPath());
  auto* connect =
      app.add_option("--connect", options.place.endpoint, "endpoint of the learner instead")
          ->excludes(dir);
  auto* connect_file =
      app.add_option("--connect-file", options.place.endpoint_file,
                     "file with the endpoint, RUN/endpoint: read again at every attempt")
          ->transform(programs::IsPath())
          ->excludes(dir)
          ->excludes(connect);
  // 2. Keys.
  auto* secret = app.add_option("--secret", options.place.secret,
                                "our secret key (NAME.secret), for a learner with keys")
                     ->transform(programs::IsPath())
                     ->excludes(dir);
  auto* learner_key = app.add_option("--learner-key", options.place.learner_key,
                                     "the learner's public key (NAME.public)")
                          ->transform(programs::IsPath())
                          ->needs(secret);
  secret->needs(learner_key);
  // 3. The actor itself.
  auto* slot = app.add_option("--slot", options.slot, "slot to take; default: the lowest free one")
                   ->transform(programs::IsInteger(0, 65'535).description(""));
  app.add_option("--connect-timeout", options.connect_timeout_s, "seconds to wait for a learner")
      ->check(programs::IsSeconds(0.001, 86'400).description(""));
  auto* stay = app.add_flag("--stay", options.stay,
                            "until the run is over: when its learner is told to stop, wait for the "
                            "next one; when this actor is, end with status 130");
  app.add_option("--runtime-dir", options.place.runtime_dir, "as wire.runtime_dir of the learner");
  app.add_option_function<std::string>(
         "--backend",
         [&options](const std::string& word) {
           options.own.backend = FindWord<DeviceChoice>(word);
         },
         "cpu, cuda or auto: device of this actor; default: the run's actors.backend")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  auto* envs = app.add_option("--envs", options.own.envs,
                              "environments of this actor; default: the run's "
                              "actors.envs_per_actor")
                   ->transform(EnvsCheck());
  auto* set = app.add_option("--set", options.overrides,
                             "env.name=..., env.python=... or env.options=... of this actor in "
                             "place of the run's; repeatable")
                  ->allow_extra_args(false);
  auto* program = app.add_option("program", options.program,
                                 "of an external net, with its arguments after --: becomes it; "
                                 "default: actors.command of the run directory");
  app.add_option("--parent", options.parent, "process id of the supervisor");
  // 4. The evaluator.
  auto* evaluate =
      app.add_flag("--evaluate", options.evaluate,
                   "compute no gradients: play with the newest weights every eval.every_steps of "
                   "the run")
          ->needs(dir)
          ->excludes(slot)
          ->excludes(envs)
          ->excludes(set)
          ->excludes(stay)
          ->excludes(program);
  app.add_flag("--finish", options.finish, "play only with its newest checkpoint, then end")
      ->needs(evaluate);
  try {
    app.parse(argc, argv);
    if (dir->empty() && connect->empty() && connect_file->empty()) {
      throw CLI::RequiredError("--run-dir, --connect or --connect-file");
    }
    options.own.env = actors::ParseOwnEnv(options.overrides);
    if (!options.place.run_dir.empty()) {
      options.own.run_dir_env = [dir = options.place.run_dir] { return EnvOfRun(dir); };
    }
    return options.evaluate ? Evaluate(options) : Run(options);
  } catch (const CLI::ParseError& error) {
    return programs::Flushed("starling-actor", app.exit(error) == 0 ? kExitDone : kExitUserError);
  } catch (const UserError& error) {
    programs::PrintError(fmt::format("starling-actor: {}", error.what()));
    return kExitUserError;
  } catch (const std::exception& error) {
    LogError("{}", error.what());
    return kExitFailed;
  }
}
