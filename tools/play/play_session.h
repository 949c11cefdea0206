// A person's play: the env, the pressed keys and the score, and the screen as lines of text. Does
// no input and output, and takes the time as a parameter: tools/play/play.cc has the loop.
//
// After an episode its last frame stays until the space bar starts the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/picture.h"
#include "tools/play/keys.h"
#include "tools/play/screen_text.h"

namespace starling::play {

class PlaySession {
 public:
  // The env of `config` with its wrappers, except env.pixels and env.stack: these change only the
  // agent's view, and a person sees the raw frame. Throws UserError as envs::MakeFrames.
  PlaySession(EnvConfig config, std::uint64_t seed);
  ~PlaySession();

  void OnPress(const Press& press, std::int64_t now_ms);
  // One step, unless the game is paused or the episode is over.
  void Step(std::int64_t now_ms);

  // Returns the picture and two lines below it, for a terminal of this size.
  std::vector<std::string> Lines(Palette palette, int columns, int rows) const;
  // Returns a line with the scores.
  std::string Summary() const;

  // Steps per second for a person: 30 for pictures, 8 for grids and vectors.
  int UsualFps() const;
  bool over() const { return over_; }
  bool paused() const { return paused_; }
  std::int64_t steps() const { return steps_; }  // of this episode
  double score() const { return score_; }        // of this episode, unclipped

 private:
  class Stage;  // the env and the frame on the screen

  std::string Status() const;
  std::string Help() const;

  std::unique_ptr<Stage> stage_;
  Steering steering_;
  bool over_ = false, paused_ = false;
  std::int64_t steps_ = 0;
  double score_ = 0;
  std::vector<double> scores_;  // of the episodes that ended
};

}  // namespace starling::play
