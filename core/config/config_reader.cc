#include "core/config/config_reader.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/config/config_rules.h"
#include "core/config/config_schema.h"
#include "core/config/nearest.h"
#include "core/config/toml_text.h"
#include "core/utf8.h"

namespace starling {
namespace {

// A value as a file would contain it, shortened if it is long.
std::string Shown(const toml::node& node) {
  if (node.is_table()) return "{...}";
  constexpr std::size_t kMaxShown = 80;
  const std::string text = TomlText(node);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string_view TypeOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// Stores the value of `node` in the member. Returns a sentence if it is not allowed, else "".
struct Assign {
  const ConfigKey& key;
  const toml::node& node;
  Config& config;

  std::string operator()(MemberOf<std::string> member) const {
    const auto text = node.value_exact<std::string>();
    if (!text) return WrongType();
    if (!std::get<TextRule>(key.rule).valid(*text)) return NotAllowed();
    member(config) = *text;
    return "";
  }
  std::string operator()(WordMember member) const {
    const auto word = node.value_exact<std::string>();
    if (!word) return WrongType();
    const auto& rule = std::get<WordRule>(key.rule);
    if (std::ranges::count(rule.later, *word) > 0) {
      return fmt::format("{} = \"{}\" is not built yet; use {}", key.name(), *word, Allowed(rule));
    }
    const auto found = std::ranges::find(rule.words, *word);
    if (found == rule.words.end()) return NotAllowed(DidYouMean(*word, rule.words));
    member.set(config, static_cast<std::size_t>(found - rule.words.begin()));
    return "";
  }
  std::string operator()(MemberOf<bool> member) const {
    const auto flag = node.value_exact<bool>();
    if (!flag) return WrongType();
    member(config) = *flag;
    return "";
  }
  std::string operator()(MemberOf<std::int64_t> member) const { return Integer(member); }
  std::string operator()(MemberOf<std::uint64_t> member) const { return Integer(member); }
  std::string operator()(MemberOf<double> member) const {
    const auto& rule = std::get<NumberRule>(key.rule);
    if (!rule.word.empty() && node.value_exact<std::string>() == rule.word) {
      member(config) = -1;
      return "";
    }
    if (!node.is_number()) return WrongType();
    const double number = *node.value<double>();
    const bool low = rule.low_open ? number > rule.low : number >= rule.low;
    const bool high = rule.high_open ? number < rule.high : number <= rule.high;
    if (!std::isfinite(number) || !low || !high) return OutOfRange();
    member(config) = number;
    return "";
  }
  std::string operator()(MemberOf<std::vector<std::int64_t>> member) const {
    const auto& rule = std::get<ListRule>(key.rule);
    return List(member, rule.least, rule.most,
                [&](std::int64_t value) { return value >= rule.low && value <= rule.high; });
  }
  std::string operator()(MemberOf<std::vector<std::string>> member) const {
    const auto& rule = std::get<TextListRule>(key.rule);
    return List(member, 0, rule.most, rule.valid);
  }

 private:
  template <class T>
  std::string Integer(MemberOf<T> member) const {
    const auto& rule = std::get<IntegerRule>(key.rule);
    if (const auto word = node.value_exact<std::string>(); word && !rule.word.empty()) {
      if (*word != rule.word) return NotAllowed(DidYouMean(*word, {std::string(rule.word)}));
      member(config) = static_cast<T>(rule.word_value);
      return "";
    }
    const auto value = node.value_exact<std::int64_t>();
    if (!value) return WrongType();
    if (*value < rule.low || *value > rule.high) return OutOfRange();
    if (rule.built && *value != *rule.built) {
      return fmt::format("{} = {} is not built yet; use {}", key.name(), *value, *rule.built);
    }
    member(config) = static_cast<T>(*value);
    return "";
  }
  template <class T>
  std::string List(MemberOf<std::vector<T>> member, std::size_t least, std::size_t most,
                   const auto& valid) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return WrongType();
    if (list->size() < least || list->size() > most) return OutOfRange();
    std::vector<T> values;
    for (const toml::node& element : *list) {
      const auto value = element.value_exact<T>();
      if (!value) return WrongType();
      if (!valid(*value)) return OutOfRange();
      values.push_back(*value);
    }
    member(config) = std::move(values);
    return "";
  }

  std::string WrongType() const {
    return fmt::format("{} = {} is {}; allowed: {}", key.name(), Shown(node), TypeOf(node),
                       Allowed(key.rule));
  }
  std::string OutOfRange() const {
    return fmt::format("{} = {} is out of range; allowed: {}", key.name(), Shown(node),
                       Allowed(key.rule));
  }
  std::string NotAllowed(const std::string& hint = "") const {
    return fmt::format("{} = {} is not allowed; allowed: {}{}", key.name(), Shown(node),
                       Allowed(key.rule), hint);
  }
};

// Suggests a similar key of this section, or the same key of another section.
std::string NearestKey(std::string_view section, std::string_view key) {
  if (const std::string hint = DidYouMean(key, ConfigKeysOf(section)); !hint.empty()) return hint;
  for (const ConfigKey& entry : ConfigSchema()) {
    if (entry.key == key) return fmt::format("; did you mean \"{}\"?", entry.name());
  }
  return "";
}

std::string UnknownSection(std::string_view section) {
  return fmt::format("unknown section \"{}\"; sections: {}{}", section, Listed(ConfigSections()),
                     DidYouMean(section, ConfigSections()));
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Parses `text` as one TOML value; any other text is a bare word, which is a string.
toml::table OverrideValue(std::string_view text) {
  try {
    toml::table table = ParseToml(fmt::format("value = {}", text));
    if (table.size() == 1 && table.contains("value")) return table;
  } catch (const toml::parse_error&) {
    // A bare word such as wait, minatar/breakout or tcp://127.0.0.1:0.
  }
  return toml::table{{"value", text}};
}

// Whether a value can be written as TOML: texts must be UTF-8.
struct CanBeWritten {
  Config& config;

  bool operator()(MemberOf<std::string> member) const { return IsUtf8(member(config)); }
  bool operator()(MemberOf<std::vector<std::string>> member) const {
    return std::ranges::all_of(member(config), IsUtf8);
  }
  bool operator()(const auto&) const { return true; }
};

}  // namespace

// The functions that need both toml++, which the header does not include, and the reader's members.
struct ConfigReader::Walk {
  ConfigReader& reader;

  SourceLocation At(const toml::source_region& region) const {
    const auto [line, column] = region.begin;
    return {fmt::format("{}:{}:{}", reader.file_, line, column), line, column};
  }

  void Set(std::string_view section, std::string_view key, const toml::node& node,
           const SourceLocation& key_location, const SourceLocation& value_location) {
    if (reader.diagnostics_.full()) return;
    const ConfigKey* entry = FindConfigKey(section, key);
    if (entry == nullptr) {
      reader.diagnostics_.Add(
          key_location, fmt::format("unknown key {}.{}; keys of [{}]: {}{}", section, key, section,
                                    Listed(ConfigKeysOf(section)), NearestKey(section, key)));
      return;
    }
    reader.locations_[entry->name()] = value_location;
    const std::string wrong = std::visit(Assign{*entry, node, reader.config_}, entry->member);
    if (wrong.empty()) return;
    reader.refused_.insert(entry->name());
    reader.diagnostics_.Add(value_location, wrong);
  }

  void Document(const toml::table& document) {
    // Four cases: a section, a key with the name of a section, an unknown section, a stray key.
    const std::vector<std::string> sections = ConfigSections();
    for (const auto& [name, node] : document) {
      if (reader.diagnostics_.full()) return;
      const SourceLocation location = At(name.source());
      const toml::table* section = node.as_table();
      const bool known = std::ranges::count(sections, name.str()) > 0;
      if (known && section != nullptr) {
        for (const auto& [key, value] : *section) {
          Set(name.str(), key.str(), value, At(key.source()), At(value.source()));
        }
      } else if (known) {
        reader.diagnostics_.Add(location, fmt::format("{} is {}, but it is a section: write [{}]",
                                                      name.str(), TypeOf(node), name.str()));
      } else if (section != nullptr) {
        reader.diagnostics_.Add(location, UnknownSection(name.str()));
      } else {
        reader.diagnostics_.Add(location, fmt::format("{} stands outside of every section{}",
                                                      name.str(), NearestKey("", name.str())));
      }
    }
  }
};

bool ConfigReader::ReadDocument(const std::string& text) {
  Walk walk{*this};
  try {
    walk.Document(ParseToml(text, file_));
    return true;
  } catch (const toml::parse_error& error) {
    std::string sentence(error.description());
    std::ranges::replace(sentence, '\n', ' ');
    diagnostics_.Add(walk.At(error.source()), sentence);
    return false;
  }
}

void ConfigReader::ReadOverride(const std::string& setting) {
  const SourceLocation location{"--set " + setting};
  const std::size_t equals = setting.find('=');
  const std::string_view name = Trimmed(std::string_view(setting).substr(0, equals));
  const std::size_t dot = name.find('.');
  if (equals == std::string::npos || dot == std::string_view::npos) {
    diagnostics_.Add(location,
                     "an override is written section.key=value, as in --set staleness.bound=4");
    return;
  }
  const std::string_view section = name.substr(0, dot), key = name.substr(dot + 1);
  if (std::ranges::count(ConfigSections(), section) == 0) {
    diagnostics_.Add(location, UnknownSection(section));
    return;
  }
  const toml::table value = OverrideValue(Trimmed(std::string_view(setting).substr(equals + 1)));
  Walk{*this}.Set(section, key, *value.get("value"), location, location);
}

void ConfigReader::Finish(std::int64_t actors_that_fit, const ConfigCheck& check) {
  ResolveAuto(config_, file_, actors_that_fit);
  std::vector<Contradiction> found = FindContradictions(config_);
  if (check) std::ranges::move(check(config_), std::back_inserter(found));
  for (const Contradiction& contradiction : found) {
    const auto refused = [&](const std::string& key) { return refused_.contains(key); };
    if (std::ranges::any_of(contradiction.keys, refused)) continue;
    diagnostics_.Add(FirstLocation(contradiction.keys), contradiction.sentence);
  }
  CheckWritten();
}

SourceLocation ConfigReader::FirstLocation(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (const auto set = locations_.find(key); set != locations_.end()) return set->second;
  }
  return {file_};
}

// Checks that the configuration can be written and read again: actors receive it as text, and a
// resumed run reads it from a file. TOML files are UTF-8, but overrides and file names may not be.
void ConfigReader::CheckWritten() {
  for (const ConfigKey& key : ConfigSchema()) {
    if (std::visit(CanBeWritten{config_}, key.member)) continue;
    diagnostics_.Add(FirstLocation({key.name()}), fmt::format("{} is no UTF-8 text", key.name()));
    break;  // one is enough: the default of run.dir repeats run.name
  }
  if (const std::size_t size = ToToml(config_).size(); size > kMaxConfigBytes) {
    diagnostics_.Add(
        {file_},
        fmt::format("the whole configuration is {} bytes long, its texts with it; at most {} can "
                    "be sent to actors",
                    size, kMaxConfigBytes));
  }
}

ConfigSource ConfigReader::Source() const {
  ConfigSource source;
  for (const auto& [key, location] : locations_) source.where[key] = location.text;
  return source;
}

}  // namespace starling
