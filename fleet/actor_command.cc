#include "fleet/actor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "core/error.h"

namespace starling::fleet {

void CheckOwnActor(const Config& config) {
  if (!config.net.external()) return;
  const std::vector<std::string>& command = config.actors.command;
  if (command.empty()) {
    throw UserError(
        "net.kind = \"external\" and actors.command is empty, so no actor would join: set it to "
        "the program that starts one, or start actors yourself and give --no-actors");
  }
  if (!FindProgram(command.front()).empty()) return;
  throw UserError(fmt::format("actors.command: there is no program {} that can be run{}",
                              command.front(),
                              command.front().find('/') == std::string::npos ? " in $PATH" : ""));
}

std::vector<std::string> OwnActorSettings(const Config& config) {
  return {fmt::format("STARLING_CONNECT_TIMEOUT={}", config.wire.connect_timeout_s),
          "STARLING_RUNTIME_DIR=" + config.wire.runtime_dir};
}

ChildSpec ActorSpecOf(const SupervisorOptions& options, int slot) {
  // An actor has nothing to save, and one that hangs in an environment of its own process ignores
  // SIGTERM: it is killed if this process ends.
  ChildSpec spec;
  spec.death_signal = SIGKILL;
  const std::string run_dir = options.run_dir.string(), number = std::to_string(slot);
  if (options.own_actor.empty()) {
    spec.program = options.actor_program;
    spec.arguments = {"--run-dir", run_dir, "--slot", number};
    spec.arguments.insert(spec.arguments.end(), options.actor_arguments.begin(),
                          options.actor_arguments.end());
    spec.arguments.insert(spec.arguments.end(), {"--parent", std::to_string(::getpid())});
    return spec;
  }
  const std::vector<std::string>& words = options.own_actor;
  const std::string program = FindProgram(words.front());
  spec.program = program.empty() ? words.front() : program;
  spec.arguments = {words.begin() + 1, words.end()};
  spec.environment = {"PYTHONUNBUFFERED=1"};  // its lines are for the log, as they come
  spec.settings = options.own_actor_settings;
  spec.settings.push_back("STARLING_RUN_DIR=" + std::filesystem::absolute(run_dir).string());
  spec.settings.push_back("STARLING_SLOT=" + number);
  return spec;
}

}  // namespace starling::fleet
