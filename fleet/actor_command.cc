#include "fleet/actor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

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

ChildSpec ActorSpecOf(const SupervisorOptions& options, int slot) {
  ChildSpec spec;
  if (options.own_actor.empty()) {
    spec.program = options.actor_program;
    spec.arguments = {"--run-dir", options.run_dir.string(), "--slot", std::to_string(slot)};
    spec.arguments.insert(spec.arguments.end(), options.actor_arguments.begin(),
                          options.actor_arguments.end());
    spec.arguments.insert(spec.arguments.end(), {"--parent", std::to_string(::getpid())});
  } else {
    actors::ToldPlace told = options.own_actor_place;
    told.place.run_dir = options.run_dir.string();
    told.slot = slot;
    spec = actors::OwnProgramSpec(options.own_actor, told);
  }
  // An actor has nothing to save, and one that hangs in an environment of its own process ignores
  // SIGTERM: it is killed if this process ends.
  spec.death_signal = SIGKILL;
  return spec;
}

}  // namespace starling::fleet
