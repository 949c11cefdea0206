// The process that serves the status pages of a run: `starling watch`.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "core/child.h"
#include "core/config/config.h"
#include "core/process.h"

namespace starling::fleet {

// The address is in its arguments, because config.toml may not be written yet. The process ends
// with the thread that starts it.
inline ChildSpec PagesOf(const StatusConfig& status, const std::filesystem::path& run_dir) {
  ChildSpec spec{.program = ProgramDir() / "starling",
                 .arguments = {"watch", run_dir.string(), "--parent", fmt::format("{}", ::getpid()),
                               "--port", fmt::format("{}", status.port), "--bind", status.bind},
                 .death_signal = SIGKILL};
  if (!status.token_file.empty()) {
    spec.arguments.insert(spec.arguments.end(), {"--token-file", status.token_file});
  }
  return spec;
}

// Ends it, with the game that it may have started.
inline void EndPages(int pid) {
  constexpr int kLimitMs = 1000;
  ::kill(pid, SIGTERM);
  EndChild(pid, kLimitMs);
}

}  // namespace starling::fleet
