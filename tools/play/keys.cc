#include "tools/play/play_session.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace starling::play {
namespace {

constexpr char kEscape = '\033', kCtrlC = '\003';

// Names of the actions of Key::kUp to Key::kFire.
constexpr std::string_view kNames[] = {"up", "down", "left", "right", "fire"};

constexpr std::pair<char, Key> kLetters[] = {
    {'w', Key::kUp},   {'s', Key::kDown},  {'a', Key::kLeft}, {'d', Key::kRight},
    {' ', Key::kFire}, {'p', Key::kPause}, {'q', Key::kQuit}, {kCtrlC, Key::kInterrupt}};

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::optional<Press> PlainKey(char byte) {
  if (byte >= '0' && byte <= '9') return Press{Key::kDigit, byte - '0'};
  const auto* const found = std::ranges::find(kLetters, Lower(byte), &std::pair<char, Key>::first);
  return found == std::end(kLetters) ? std::nullopt : std::optional(Press{found->second});
}

// `last` is the last byte of an escape sequence.
std::optional<Press> Arrow(char last) {
  constexpr Key kArrows[] = {Key::kUp, Key::kDown, Key::kRight, Key::kLeft};  // A to D
  return last >= 'A' && last <= 'D' ? std::optional(Press{kArrows[last - 'A']}) : std::nullopt;
}

bool EndsSequence(char byte) { return byte >= 0x40 && byte <= 0x7e; }

}  // namespace

std::vector<Press> KeyDecoder::Feed(std::string_view bytes) {
  // An escape byte begins a sequence in any state; Ctrl-C is never part of one.
  std::vector<Press> presses;
  for (const char byte : bytes) {
    std::optional<Press> press;
    if (byte == kEscape) {
      state_ = State::kEscape;
    } else if (state_ == State::kEscape && (byte == '[' || byte == 'O')) {
      state_ = State::kSequence;
    } else if (state_ == State::kSequence && byte != kCtrlC) {
      if (!EndsSequence(byte)) continue;
      press = Arrow(byte);
      state_ = State::kPlain;
    } else {
      press = PlainKey(byte);
      state_ = State::kPlain;
    }
    if (press) presses.push_back(*press);
  }
  return presses;
}

Steering::Steering(const std::vector<std::string>& action_names) : names_(action_names) {
  for (std::string& name : names_) {
    for (char& c : name) c = Lower(c);
  }
  for (int i = 0; i < kNamedKeys; ++i) keys_[i].action = Find(kNames[i]);
}

std::int32_t Steering::Find(std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  return at == names_.end() ? -1 : static_cast<std::int32_t>(at - names_.begin());
}

void Steering::OnPress(const Press& press, std::int64_t now_ms) {
  if (press.key == Key::kDigit) {
    if (press.digit < static_cast<int>(names_.size())) digit_ = {press.digit, now_ms, true, true};
  } else if (static_cast<int>(press.key) < kNamedKeys) {
    Pressed& key = keys_[static_cast<int>(press.key)];
    // Up and down, left and right exclude each other: the newer press ends the older one.
    if (press.key != Key::kFire) keys_[static_cast<int>(press.key) ^ 1].active = false;
    key = {key.action, now_ms, true, true};
  }
}

// "up" or "down", then "left" or "right", then "fire".
std::int32_t Steering::Together() const {
  std::string name;
  for (int i = 0; i < kNamedKeys; ++i) {
    if (keys_[i].active) name += kNames[i];
  }
  return Find(name);
}

std::int32_t Steering::Take(std::int64_t now_ms) {
  // 1. End the presses that are too old.
  const auto refresh = [now_ms](Pressed& key) {
    const std::int64_t age = now_ms - key.at_ms;
    key.waits = key.active && key.waits && age <= kForgetMs;
    key.active = key.active && (key.waits || age <= kHoldMs);
  };
  refresh(digit_);
  for (Pressed& key : keys_) refresh(key);
  // 2. A digit, or all keys together.
  if (digit_.active) {
    digit_.waits = false;
    return digit_.action;
  }
  if (const std::int32_t together = Together(); together >= 0) {
    for (Pressed& key : keys_) key.waits = false;
    return together;
  }
  // 3. One key: the oldest that waits, or else the newest.
  const auto rank = [](const Pressed& key) {
    return std::tuple(key.active && key.action >= 0, key.waits, key.waits ? -key.at_ms : key.at_ms);
  };
  Pressed& chosen = *std::ranges::max_element(keys_, {}, rank);
  if (!chosen.active || chosen.action < 0) return 0;
  chosen.waits = false;
  return chosen.action;
}

bool Steering::HasNames() const {
  return std::ranges::any_of(keys_, [](const Pressed& key) { return key.action >= 0; });
}

}  // namespace starling::play
