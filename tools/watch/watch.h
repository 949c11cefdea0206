// `starling watch`: serves the pages of a run, or of all runs in a directory, while they train and
// afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace starling::watch {

struct WatchOptions {
  std::filesystem::path target;        // a run directory, or a directory with runs
  std::optional<std::int64_t> port{};  // over that of the run's configuration; 0: any free one
  std::string bind{}, token_file{};    // over those of the run's; ""
  bool health = false;                 // only say whether it is well (tools/watch/health.h)
  int parent = 0;                      // process id of the program that starts it; 0: by hand
  bool play = false;                   // is the process that plays (tools/watch/live_play.h)
};

// Serves until a stop signal, or the end of `parent`; or says how it is. Returns the exit status.
// Throws UserError.
int RunWatch(const WatchOptions& options);

}  // namespace starling::watch
