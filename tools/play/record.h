// `starling record`: pictures of play, of a trained net or of a random player, as an animated GIF
// or as a PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace starling::play {

inline constexpr std::int64_t kMaxRecordedSteps = 1'000'000;

struct RecordOptions {
  std::filesystem::path target;  // a run directory or checkpoint; empty: a random player in `env`
  std::string env;               // name, with no target
  std::vector<std::string> overrides;  // "env.key=value", with no target
  std::filesystem::path out;           // x.gif or x.png
  std::int64_t episodes = 1;           // it ends with the last of them,
  std::int64_t steps = 2000;           // or after so many of the agent's steps
  std::uint64_t seed = 1;              // of the episodes, as of `starling eval`
  bool greedy = false;                 // the likeliest action instead of a drawn one
  int fps = 0;    // frames per second of a GIF; 0: 30 for pictures, 8 for grids
  int scale = 0;  // pixels a pixel or cell; 0: about 336 in all
  int tiles = 1;  // frames in a PNG, evenly over the whole, the last one the last
};

// The frames are raw ones, every one of them, whatever the net sees (repeats, no-ops, the last of
// an episode). The episodes are those that `starling eval --episodes 1` plays from the same seed.
// Returns the exit status. Throws UserError; what goes wrong when the file is written is another
// exception that names the file, and leaves no file behind.
int RunRecord(const RecordOptions& options);

}  // namespace starling::play
