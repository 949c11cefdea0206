// The process that serves the status pages of a run: `starling watch`, which has config's address.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/child.h"
#include "core/process.h"

namespace starling::fleet {

// Its address is that of the run's configuration. It ends with the thread that starts it.
inline ChildSpec PagesOf(const std::filesystem::path& run_dir) {
  return {.program = ProgramDir() / "starling",
          .arguments = {"watch", run_dir.string(), "--parent", std::to_string(::getpid())},
          .death_signal = SIGKILL};
}

}  // namespace starling::fleet
