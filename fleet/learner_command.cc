#include "fleet/learner_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "core/error.h"

namespace starling::fleet {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRank = "starling-rank";

bool Executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

// Open MPI's, on this machine alone, also in the allocation of a scheduler. Ranks leave their cores
// to each other, so more of them than cores is no mistake.
LearnerCommand MpirunOf(const Config& config, const fs::path& programs) {
  const std::string ranks = fmt::format("{}", config.actors.count);
  LearnerCommand command{
      .program = FindMpirun(programs),
      .arguments = {"-q", "-n", ranks, "--host", "localhost:" + ranks, "--oversubscribe",
                    "--bind-to", "none", "--mca", "plm", "isolated", "--mca", "ras",
                    "^slurm,tm,lsf,gridengine",
                    // A dead rank ends the others at once.
                    "--mca", "odls_base_sigkill_timeout", "0", (programs / kRank).string()},
      // It passes this one on; at others it kills its ranks.
      .stop_signal = SIGUSR1,
      .has_actors = false};
  if (::geteuid() == 0) {
    command.environment = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  }
  return command;
}

}  // namespace

ChildExit LearnerCommand::EndOf(const ChildExit& exit) const {
  const bool killed = exit.how == ChildExit::How::kExited && exit.code > 128;
  if (has_actors || !killed) return exit;
  return {ChildExit::How::kKilled, exit.code - 128};
}

LearnerCommand LearnerCommandOf(const Config& config, const fs::path& programs) {
  if (config.updates.exchange == Exchange::kAllreduce) return MpirunOf(config, programs);
  return {.program = ProgramIn(programs, "starling-learner"), .stop_signal = SIGTERM};
}

void KeepMpiFilesIn(const fs::path& dir, LearnerCommand& mpirun) {
  std::vector<std::string> options;
  for (const char* key : {"orte_tmpdir_base", "btl_vader_backing_directory"}) {
    options.insert(options.end(), {"--mca", key, dir.string()});
  }
  mpirun.arguments.insert(mpirun.arguments.begin(), options.begin(), options.end());
  mpirun.mpi_files = dir;
}

fs::path FindMpirun(const fs::path& programs) {
  constexpr const char* kRemedy =
      "scripts/setup --mpi, then scripts/build release (a package has none)";
  const std::string mpirun = FindProgram("mpirun");
  if (mpirun.empty()) {
    throw UserError(fmt::format(
        "ranks (updates.exchange = \"allreduce\") need mpirun, and there is none in $PATH: {}",
        kRemedy));
  }
  if (!Executable(programs / kRank)) {
    throw UserError(fmt::format("{} was built without MPI, so there is no {}: {}",
                                programs.string(), kRank, kRemedy));
  }
  return mpirun;
}

fs::path ProgramIn(const fs::path& programs, const std::string& program) {
  const fs::path path = programs / program;
  if (Executable(path)) return path;
  throw UserError(fmt::format("{} is missing beside starling: build all of it", path.string()));
}

}  // namespace starling::fleet
