// ConfigValues, ToToml: write the effective configuration, key by key in the order of the schema.
#include <fmt/format.h>

#include <utility>
#include "core/config/config.h"
#include "core/config/config_schema.h"

namespace starling {
namespace {

// A TOML basic string.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      quoted += fmt::format("\\u{:04X}", code);
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

// The fewest digits that read back to the same double, with a point or an exponent: TOML would read
// a number without them as an integer.
std::string Written(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string WrittenInteger(T value, const ConfigRule& rule) {
  const auto& integer = std::get<IntegerRule>(rule);
  if (!integer.word.empty() && std::cmp_equal(value, integer.word_value)) {
    return Quoted(std::string(integer.word));
  }
  return fmt::format("{}", value);
}

struct Writer {
  Config& config;
  const ConfigRule& rule;
  std::string operator()(MemberOf<std::string> member) const { return Quoted(member(config)); }
  std::string operator()(WordMember member) const {
    return Quoted(std::get<WordRule>(rule).words[member.get(config)]);
  }
  std::string operator()(MemberOf<bool> member) const { return member(config) ? "true" : "false"; }
  std::string operator()(MemberOf<std::int64_t> member) const {
    return WrittenInteger(member(config), rule);
  }
  std::string operator()(MemberOf<std::uint64_t> member) const {
    return WrittenInteger(member(config), rule);
  }
  std::string operator()(MemberOf<double> member) const {
    const std::string_view word = std::get<NumberRule>(rule).word;
    return !word.empty() && member(config) < 0 ? Quoted(std::string(word))
                                               : Written(member(config));
  }
  std::string operator()(MemberOf<std::vector<std::int64_t>> member) const {
    std::string text;
    for (const std::int64_t value : member(config)) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
    }
    return "[" + text + "]";
  }
  std::string operator()(MemberOf<std::vector<std::string>> member) const {
    std::string text;
    for (const std::string& value : member(config)) {
      text += (text.empty() ? "" : ", ") + Quoted(value);
    }
    return "[" + text + "]";
  }
};

}  // namespace

std::vector<ConfigValue> ConfigValues(const Config& config) {
  Config copy = config;  // the schema's accessors need a mutable Config
  std::vector<ConfigValue> values;
  for (const ConfigKey& key : ConfigSchema()) {
    values.push_back({key.section, key.key, std::visit(Writer{copy, key.rule}, key.member)});
  }
  return values;
}

std::string ToToml(const Config& config) {
  std::string text, section;
  for (const ConfigValue& value : ConfigValues(config)) {
    if (value.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", value.section);
      section = value.section;
    }
    text += fmt::format("{} = {}\n", value.key, value.toml);
  }
  return text;
}

}  // namespace starling
