// The command that a supervisor starts as its learner: starling-learner, or mpirun with all ranks
// of a run without a learner (updates.exchange = "allreduce"). Rank 0 reports to the supervisor as
// a learner does, and the supervisor starts no actors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/child.h"
#include "core/config/config.h"

namespace starling::fleet {

struct LearnerCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments{};    // before those of the learner itself
  std::vector<std::string> environment{};  // "NAME=value"
  int stop_signal = 0;                     // asks it to end with a last checkpoint
  bool has_actors = true;  // false: its children play, ranks in process groups of their own
  std::filesystem::path mpi_files{};  // the directory of KeepMpiFilesIn; "" without mpirun

  // Returns the end of the learner behind that of the program: mpirun ends with 128 + the signal
  // that killed a rank.
  ChildExit EndOf(const ChildExit& exit) const;
};

// `programs`: the directory of the programs. Throws UserError if a program is missing.
LearnerCommand LearnerCommandOf(const Config& config, const std::filesystem::path& programs);

// Makes Open MPI keep its files in `dir`. An mpirun that is killed does not remove them.
void KeepMpiFilesIn(const std::filesystem::path& dir, LearnerCommand& mpirun);

// Returns the mpirun that starts ranks. Throws UserError with the remedy if there is none, or
// starling-rank was not built.
std::filesystem::path FindMpirun(const std::filesystem::path& programs);

// Throws UserError if `program` is not there: "...: build all of it".
std::filesystem::path ProgramIn(const std::filesystem::path& programs, const std::string& program);

}  // namespace starling::fleet
