// Turns the bytes of a keyboard into the action of a step. Time is a parameter.
//
// A terminal reports keys that are pressed, and repeats while they are held, but never a release.
// Therefore a press counts for the next step in any case, and for all steps that begin within
// kHoldMs after it: a tap in a slow game is one step, a key held in a fast one acts without gaps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling::play {

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

}  // namespace starling::play
