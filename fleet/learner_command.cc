#include "fleet/learner_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "core/child.h"
#include "core/error.h"

namespace starling::fleet {

namespace fs = std::filesystem;

namespace {

bool Executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

constexpr const char* kRemedy =
    "install MPI (scripts/setup --mpi) and build again (scripts/build release)";

// Open MPI's. Ranks leave their cores to each other, so more of them than cores is no mistake.
LearnerCommand MpirunOf(const Config& config, const fs::path& programs) {
  const std::string mpirun = FindProgram("mpirun");
  const fs::path rank = programs / "starling-rank";
  if (mpirun.empty()) {
    throw UserError(
        fmt::format("updates.exchange = \"allreduce\": there is no mpirun in $PATH: {}", kRemedy));
  }
  if (!Executable(rank)) {
    throw UserError(
        fmt::format("updates.exchange = \"allreduce\": {} is missing: {}", rank.string(), kRemedy));
  }
  LearnerCommand command{.program = mpirun,
                         .arguments = {"-q", "-n", fmt::format("{}", config.actors.count),
                                       "--oversubscribe", "--bind-to", "none",
                                       // A dead rank ends the others at once.
                                       "--mca", "odls_base_sigkill_timeout", "0", rank.string()},
                         // It passes this one on; at others it kills its ranks.
                         .stop_signal = SIGUSR1,
                         .has_actors = false};
  if (::geteuid() == 0) {
    command.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  }
  return command;
}

}  // namespace

LearnerCommand LearnerCommandOf(const Config& config, const fs::path& programs) {
  if (config.updates.exchange == Exchange::kAllreduce) return MpirunOf(config, programs);
  return {.program = ProgramIn(programs, "starling-learner"), .stop_signal = SIGTERM};
}

fs::path ProgramIn(const fs::path& programs, const std::string& program) {
  const fs::path path = programs / program;
  if (Executable(path)) return path;
  throw UserError(fmt::format("{} is missing beside starling: build all of it", path.string()));
}

}  // namespace starling::fleet
