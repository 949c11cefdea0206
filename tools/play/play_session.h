// A person's play: the env, the pressed keys and the score, and the screen as lines of text. Does
// no input and output, and takes the time as a parameter: tools/play/play.cc has the loop.
//
// After an episode its last frame stays until the space bar starts the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "envs/env.h"
#include "envs/picture.h"
#include "tools/play/terminal.h"

namespace starling::play {

// ---- From the bytes of a keyboard to the action of a step (keys.cc)
//
// A terminal reports keys that are pressed, and repeats while they are held, but never a release.
// Therefore a press counts for the next step in any case, and for all steps that begin within
// kHoldMs after it: a tap in a slow game is one step, a key held in a fast one acts without gaps.

enum class Key { kUp, kDown, kLeft, kRight, kFire, kDigit, kPause, kQuit, kInterrupt };

struct Press {
  Key key = Key::kFire;
  int digit = 0;  // of kDigit
  friend bool operator==(const Press&, const Press&) = default;
};

// Arrows and wasd, space (fire), digits, p (pause), q (quit), Ctrl-C (interrupt). Accepts escape
// sequences in pieces, and ignores all other bytes.
class KeyDecoder {
 public:
  std::vector<Press> Feed(std::string_view bytes);

 private:
  enum class State { kPlain, kEscape, kSequence } state_ = State::kPlain;
};

// Maps keys to actions by the names of the actions: "up", "left" …, "fire" alone, and together as
// Atari names them ("upleftfire"); a digit is the action of that index.
class Steering {
 public:
  static constexpr std::int64_t kHoldMs = 100;
  static constexpr std::int64_t kForgetMs = 400;  // age at which an unused press is dropped

  // The names of the env's actions. Action 0 does nothing.
  explicit Steering(const std::vector<std::string>& action_names);

  void OnPress(const Press& press, std::int64_t now_ms);
  // Returns the action of a step that begins now: that of all keys together if it exists, else of
  // the press that has waited longest, else of the key pressed last; 0 without keys.
  std::int32_t Take(std::int64_t now_ms);
  // Returns whether any key other than digits has an action.
  bool HasNames() const;

 private:
  static constexpr int kNamedKeys = 5;  // Key::kUp to Key::kFire

  struct Pressed {
    std::int32_t action = -1;  // of this key alone, or -1
    std::int64_t at_ms = 0;
    bool active = false, waits = false;  // `waits`: no step has used it
  };

  std::int32_t Find(std::string_view name) const;  // or -1
  std::int32_t Together() const;

  std::vector<std::string> names_;
  Pressed keys_[kNamedKeys];
  Pressed digit_;
};

// ---- The session

class PlaySession {
 public:
  // The env of `config` with its wrappers, except env.pixels and env.stack: these change only the
  // agent's view, and a person sees the raw frame. Throws UserError as envs::MakeFrames, and for an
  // env whose action is not a single choice.
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
