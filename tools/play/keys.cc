#include "tools/play/keys.h"

#include <algorithm>
#include <cctype>

namespace starling::play {
namespace {

constexpr char kEscape = '\033', kCtrlC = '\003';

std::optional<Press> PlainKey(char byte) {
  switch (std::tolower(static_cast<unsigned char>(byte))) {
    case 'w':
      return Press{Key::kUp};
    case 's':
      return Press{Key::kDown};
    case 'a':
      return Press{Key::kLeft};
    case 'd':
      return Press{Key::kRight};
    case ' ':
      return Press{Key::kFire};
    case 'p':
      return Press{Key::kPause};
    case 'q':
      return Press{Key::kQuit};
    case kCtrlC:
      return Press{Key::kInterrupt};
    default:
      break;
  }
  if (byte >= '0' && byte <= '9') return Press{Key::kDigit, byte - '0'};
  return std::nullopt;
}

std::optional<Press> Arrow(char last) {
  switch (last) {
    case 'A':
      return Press{Key::kUp};
    case 'B':
      return Press{Key::kDown};
    case 'C':
      return Press{Key::kRight};
    case 'D':
      return Press{Key::kLeft};
    default:
      return std::nullopt;
  }
}

bool EndsSequence(char byte) { return byte >= 0x40 && byte <= 0x7e; }

}  // namespace

std::vector<Press> KeyDecoder::Feed(std::string_view bytes) {
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
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::string_view kNames[kNamedKeys] = {"up", "down", "left", "right", "fire"};
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
    // Up and down, left and right end each other: the one before is no longer meant.
    if (press.key != Key::kFire) keys_[static_cast<int>(press.key) ^ 1].active = false;
    key = {key.action, now_ms, true, true};
  }
}

// "up" or "down", then "left" or "right", then "fire".
std::int32_t Steering::Together() const {
  constexpr std::string_view kNames[kNamedKeys] = {"up", "down", "left", "right", "fire"};
  std::string name;
  for (int i = 0; i < kNamedKeys; ++i) {
    if (keys_[i].active) name += kNames[i];
  }
  return Find(name);
}

std::int32_t Steering::Take(std::int64_t now_ms) {
  const auto refresh = [now_ms](Pressed& key) {
    const std::int64_t age = now_ms - key.at_ms;
    key.waits = key.active && key.waits && age <= kForgetMs;
    key.active = key.active && (key.waits || age <= kHoldMs);
  };
  refresh(digit_);
  for (Pressed& key : keys_) refresh(key);
  if (digit_.active) {
    digit_.waits = false;
    return digit_.action;
  }
  if (const std::int32_t together = Together(); together >= 0) {
    for (Pressed& key : keys_) key.waits = false;
    return together;
  }
  Pressed* chosen = nullptr;
  for (Pressed& key : keys_) {
    if (!key.active || key.action < 0) continue;
    const bool better = chosen == nullptr || (key.waits != chosen->waits ? key.waits
                                              : key.waits                ? key.at_ms < chosen->at_ms
                                                          : key.at_ms > chosen->at_ms);
    if (better) chosen = &key;
  }
  if (chosen == nullptr) return 0;
  chosen->waits = false;
  return chosen->action;
}

bool Steering::HasNames() const {
  return std::ranges::any_of(keys_, [](const Pressed& key) { return key.action >= 0; });
}

}  // namespace starling::play
