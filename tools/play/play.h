// The commands that play games: `starling play`, `record`, `eval` and `envs`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/picture.h"

struct GifFileType;

namespace starling::play {

// `starling play ENV`: a person plays in the terminal.
struct PlayOptions {
  std::string env;
  std::vector<std::string> overrides;  // "env.key=value"
  int fps = 0;                         // steps per second; 0: PlaySession::UsualFps
  std::uint64_t seed = 1;
};
// Returns the exit status: kExitInterrupted after Ctrl-C or a signal. Throws UserError, also
// without a terminal.
int RunPlay(const PlayOptions& options);

inline constexpr std::int64_t kMaxRecordedSteps = 1'000'000;

// `starling record`: a GIF or PNG of a trained net or a random player.
struct RecordOptions {
  std::filesystem::path target;  // a run directory or checkpoint; "": a random player in `env`
  std::string env;               // name, without `target`
  std::vector<std::string> overrides;  // "env.key=value", over the run's
  std::filesystem::path out;           // x.gif or x.png
  std::int64_t episodes = 1;           // ends with the last of them,
  std::int64_t steps = 2000;           // or after this many steps of the agent
  std::uint64_t seed = 1;              // of the episodes, as of `starling eval`
  bool greedy = false;                 // the likeliest action instead of a drawn one
  int fps = 0;    // frames per second of a GIF; 0: 30 for pictures, 8 for grids
  int scale = 0;  // output pixels per pixel or cell; 0: about 336 for a side
  int tiles = 1;  // frames in a PNG, evenly over the play, with the last frame
};
// Records every raw frame, also those that the net does not see (repeats, no-ops, ends of
// episodes). Plays the episodes of `starling eval --episodes 1` with the same seed, up to the first
// whose process fails. Returns the exit status. Throws UserError, or another exception with the
// file's name if writing fails; then there is no file.
int RunRecord(const RecordOptions& options);

// `starling eval`: fresh episodes with the weights of a checkpoint.
struct EvalOptions {
  std::filesystem::path target;  // a run directory (its newest good checkpoint) or a checkpoint
  std::vector<std::string> overrides;  // "env.key=value", over the run's
  std::int64_t episodes = 100;
  bool greedy = false;  // the likeliest action instead of a drawn one
  bool json = false;    // {"mean_return", "std", "episodes"} on standard output
  std::uint64_t seed = 1;
};
// Returns the exit status. Throws UserError.
int RunEval(const EvalOptions& options);

// The actions of an env: "6 (noop left up right down fire)", "3 x 3 choices, masked" or "2 numbers
// in [-1, 1]".
std::string ActionsOf(const envs::EnvSpec& spec);

// `starling envs`: the table of the bundled environments, and the names of others, in lines of at
// most 100 columns.
std::string EnvTable();

// Throws UserError unless all `overrides` are "env.key=value", with env.name only if `name_too`.
void CheckEnvKeys(const std::vector<std::string>& overrides, bool name_too);

// Returns the environment that a command line describes. `overrides` are "env.key=value". Throws
// UserError for a key of another section, or as ParseConfig. Does not check that `name` exists.
EnvConfig EnvOptions(const std::string& name, const std::vector<std::string>& overrides);

// ---- Pictures as animated GIF (giflib) and PNG (libpng), encoded in memory: core/file.h then
// writes a whole file or none (image_file.cc)

// A GIF that loops. A frame stores only the rectangle that changed and its colours (more than 256
// are rounded to a cube of 6 x 7 x 6). A frame without changes prolongs the one before.
class GifWriter {
 public:
  static constexpr int kFastest = 50;  // frames per second; viewers slow down faster ones

  // A frame is `width` x `height` pixels, each 1 to 65535, and lasts 1 / `fps` seconds, fps in
  // [1, kFastest]. The format counts hundredths of a second, rounded without drift.
  GifWriter(int width, int height, int fps);
  ~GifWriter();
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  void Add(const envs::Image& image);
  // Returns the file. The last frame stays for `last_ms` more. REQUIRES: one call, after an Add.
  std::string Finish(int last_ms = 1000);

 private:
  void Flush(std::int64_t until_cs);  // writes the waiting frame, whose end is now known

  const int fps_;
  std::string file_;
  GifFileType* gif_;
  envs::Image shown_;                  // on the viewer's screen before the waiting frame
  envs::Image waiting_;                // empty before the first
  std::int64_t frames_ = 0;            // added
  std::int64_t waiting_since_cs_ = 0;  // when the waiting frame begins
};

// Returns the bytes of a PNG.
std::string EncodePng(const envs::Image& image);

// Returns the images in rows of `columns`, with `gap` pixels of envs::kGap between and around them.
// REQUIRES: at least one image, all of one size; columns >= 1.
envs::Image ContactSheet(const std::vector<envs::Image>& images, int columns, int gap);

}  // namespace starling::play
