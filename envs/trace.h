// Holds our games to recorded play (format: envs/trace_file.h): fed the recorded actions and draws,
// a game must show the same observation, reward and end at every step. Behind `starling conform`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::envs {

struct TraceResult {
  bool conforms = false;
  long steps = 0;  // that agreed; all of the recording's, if it conforms
  // Empty if it conforms; otherwise several lines: which step, and what was recorded and what we
  // got: draws, reward, end, and a picture of every channel that differs.
  std::string first_difference;
};

// Throws UserError, naming file and line, on a file that cannot be read or is no recording, and on
// a recording of a game or of a variant that is not here.
TraceResult Conform(const std::filesystem::path& path);

// Names as recordings give them ("breakout"), of the games that can be held to them.
std::vector<std::string> TracedGames();

}  // namespace starling::envs
