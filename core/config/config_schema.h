// The one table of the configuration: every key with its member, its type and its allowed values.
// The parser, the writer, the messages and the test of configs/reference.toml all use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config/config.h"

namespace starling {

// Returns the member of a Config for a key; one function type for each type of member.
template <class T>
using MemberOf = T& (*)(Config&);
// The same for an enum of core/config/words.h, as the index of its word.
struct WordMember {
  std::size_t (*get)(Config&);
  void (*set)(Config&, std::size_t);
};
using ConfigMember =
    std::variant<MemberOf<std::string>, MemberOf<bool>, MemberOf<std::int64_t>,
                 MemberOf<std::uint64_t>, MemberOf<double>, MemberOf<std::vector<std::int64_t>>,
                 MemberOf<std::vector<std::string>>, WordMember>;

struct FlagRule {};

// An integer of [low, high], or `word`, which is stored as `word_value`.
struct IntegerRule {
  std::int64_t low, high;
  std::string_view word = "";
  std::uint64_t word_value = 0;
};

// A finite number from low to high, without an open end; or `word`, which is stored as
// `word_value`.
struct NumberRule {
  double low, high;
  bool low_open = false, high_open = false;
  std::string_view word = "";
  double word_value = -1;  // outside of the range
};

// One of `words`; true and false among them are flags, not strings.
struct WordRule {
  std::vector<std::string> words;
};

// Text for which `valid` is true; `allowed` describes it in messages.
struct TextRule {
  std::string_view allowed;
  bool (*valid)(std::string_view);
};

// A list of `least` to `most` integers of [low, high].
struct ListRule {
  std::size_t least, most;
  std::int64_t low, high;
};

// A list of up to `most` texts, each `valid`.
struct TextListRule {
  std::size_t most;
  bool (*valid)(std::string_view);
};

using ConfigRule =
    std::variant<FlagRule, IntegerRule, NumberRule, WordRule, TextRule, ListRule, TextListRule>;

struct ConfigKey {
  std::string section, key;
  ConfigMember member;
  ConfigRule rule;

  std::string name() const { return section + "." + key; }
};

// All keys, in the order of configs/reference.toml.
std::span<const ConfigKey> ConfigSchema();

// Returns nullptr if there is no such key.
const ConfigKey* FindConfigKey(std::string_view section, std::string_view key);

std::vector<std::string> ConfigSections();
std::vector<std::string> ConfigKeysOf(std::string_view section);

// Returns a word as a file contains it: "auto" in quotes, true without.
std::string WordText(const std::string& word);

// Describes the values that a rule allows: `an integer from 1 to 1024 or "auto"`.
std::string Allowed(const ConfigRule& rule);

// Returns whether `text` is "auto", "ipc://PATH" or "tcp://HOST:PORT". Checks the form only: wire/
// decides which hosts are allowed.
bool LooksLikeEndpoint(std::string_view text);
// Returns whether `text` is an IPv4 or IPv6 address in digits.
bool LooksLikeAddress(std::string_view text);

}  // namespace starling
