// Checks our games against recorded play (format: envs/trace_file.h): with the recorded actions and
// draws, a game must show the same observation, reward and end at every step. The work of
// `starling conform`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::envs {

struct TraceResult {
  bool conforms = false;
  long steps = 0;  // number of steps that agreed
  // Empty if it conforms. Otherwise several lines: the step, then every difference between
  // recording and game in draws, reward and end, and a picture of every channel that differs.
  std::string first_difference;
};

// Throws UserError, with file and line, if the file cannot be read or is not a recording, or if we
// do not have its game or variant.
TraceResult Conform(const std::filesystem::path& path);

// The games that can be checked, by their names in recordings ("breakout").
std::vector<std::string> TracedGames();

}  // namespace starling::envs
