// From the bytes of a keyboard to the action of a step. Pure: time comes in as a number.
//
// A terminal tells of keys pressed, and pressed again while they are held, but never of one that is
// let go. So a press counts for the next step in any case, and for those that begin within kHoldMs
// after it: a tap in a slow game is one step, a key held in a fast one acts without gaps.
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

// Arrows and wasd, space (fire), digits, p (pause), q (quit), Ctrl-C (interrupt). Escape sequences
// may come in pieces; what is none of these is passed over.
class KeyDecoder {
 public:
  std::vector<Press> Feed(std::string_view bytes);

 private:
  enum class State { kPlain, kEscape, kSequence } state_ = State::kPlain;
};

// Which action keys mean, by the names of the actions: "up", "left" …, "fire" alone, and together
// as Atari names them ("upleftfire"); a digit is the action of that index.
class Steering {
 public:
  static constexpr std::int64_t kHoldMs = 100;
  static constexpr std::int64_t kForgetMs = 400;  // a press that no step took by then

  // Of the env's actions, action 0 being the one that does nothing.
  explicit Steering(const std::vector<std::string>& action_names);

  void OnPress(const Press& press, std::int64_t now_ms);
  // The action of a step that begins now: all keys together where there is such an action; else the
  // press that has waited longest, else the key pressed last; 0 without any.
  std::int32_t Take(std::int64_t now_ms);
  // Whether any key but digits means something, for the line of help.
  bool HasNames() const;

 private:
  static constexpr int kNamedKeys = 5;  // Key::kUp to kFire

  struct Pressed {
    std::int32_t action = -1;  // of this key alone; -1: none
    std::int64_t at_ms = 0;
    bool active = false, waits = false;
  };

  std::int32_t Find(std::string_view name) const;  // -1: there is none
  std::int32_t Together() const;

  std::vector<std::string> names_;
  Pressed keys_[kNamedKeys];
  Pressed digit_;
};

}  // namespace starling::play
