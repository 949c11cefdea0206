// `starling play ENV`: a person plays in the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace starling::play {

struct PlayOptions {
  std::string env;
  std::vector<std::string> overrides;  // "env.key=value"
  int fps = 0;                         // steps per second; 0: what suits the env
  std::uint64_t seed = 1;
};

// Returns the exit status: that of an interruption after Ctrl-C or a signal. Throws UserError, also
// without a terminal.
int RunPlay(const PlayOptions& options);

}  // namespace starling::play
