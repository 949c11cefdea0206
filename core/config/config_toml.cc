#include "core/config/config_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/text.h"

namespace starling {
namespace {

// The fewest digits that read back to the same double, with a point or an exponent: TOML would read
// a number without them as an integer.
std::string TomlNumber(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // 2.0, but 1e-05 and inf
  return text;
}

// ---- reading

// A value as a file would contain it, shortened if it is long.
std::string Shown(const toml::node& node) {
  if (node.is_table()) return "{...}";
  constexpr std::size_t kMaxShown = 80;
  const std::string text = TomlText(node);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

// Assign, for each type of member.
struct Assigner {
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
    const auto& rule = std::get<WordRule>(key.rule);
    auto word = node.value_exact<std::string>();
    const auto flag = node.value_exact<bool>();
    if (flag && std::ranges::count(rule.words, "true") > 0) word = *flag ? "true" : "false";
    if (!word) return WrongType();
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
      member(config) = rule.word_value;
      return "";
    }
    if (!node.is_number()) return WrongType();
    const double number = *node.value<double>();
    const bool low = rule.low_open ? number > rule.low : number >= rule.low;
    const bool high = rule.high_open ? number < rule.high : number <= rule.high;
    if (!std::isfinite(number) || !low || !high) return OutOfRange();
    // Most numbers are computed with as 32-bit floats, whose subnormal ones count as 0.
    const auto as_float = static_cast<float>(number);
    const bool vanishes = number != 0 && std::fpclassify(as_float) != FP_NORMAL;
    if (vanishes || (rule.high_open && as_float >= rule.high)) {
      return fmt::format("{} = {} is {} as a 32-bit float; allowed: {}", key.name(), Shown(node),
                         vanishes ? 0 : as_float, Allowed(key.rule));
    }
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
      if (!value) return WrongElement(element, TomlTypeOf(element));
      if (!valid(*value)) return WrongElement(element, "out of range");
      values.push_back(*value);
    }
    member(config) = std::move(values);
    return "";
  }

  std::string WrongType() const {
    return fmt::format("{} = {} is {}; allowed: {}", key.name(), Shown(node), TomlTypeOf(node),
                       Allowed(key.rule));
  }
  std::string OutOfRange() const {
    return fmt::format("{} = {} is out of range; allowed: {}", key.name(), Shown(node),
                       Allowed(key.rule));
  }
  std::string WrongElement(const toml::node& element, std::string_view what) const {
    return fmt::format("{} = {} has {}, which is {}; allowed: {}", key.name(), Shown(node),
                       Shown(element), what, Allowed(key.rule));
  }
  std::string NotAllowed(const std::string& hint = "") const {
    return fmt::format("{} = {} is not allowed; allowed: {}{}", key.name(), Shown(node),
                       Allowed(key.rule), hint);
  }
};

// ---- writing

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
    return WordText(std::get<WordRule>(rule).words[member.get(config)]);
  }
  std::string operator()(MemberOf<bool> member) const { return member(config) ? "true" : "false"; }
  std::string operator()(MemberOf<std::int64_t> member) const {
    return WrittenInteger(member(config), rule);
  }
  std::string operator()(MemberOf<std::uint64_t> member) const {
    return WrittenInteger(member(config), rule);
  }
  std::string operator()(MemberOf<double> member) const {
    const auto& number = std::get<NumberRule>(rule);
    const bool word = !number.word.empty() && member(config) == number.word_value;
    return word ? Quoted(std::string(number.word)) : TomlNumber(member(config));
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

toml::table ParseToml(std::string_view text, std::string_view name) {
  const auto check = [](std::size_t count, std::size_t limit, const char* unit) {
    if (count <= limit) return;
    const std::string sentence =
        fmt::format("{} {} are more than a file of TOML may have here, {}", count, unit, limit);
    throw toml::parse_error(sentence.c_str(), toml::source_position{1, 1});
  };
  check(text.size(), kMaxTomlBytes, "bytes");
  check(static_cast<std::size_t>(std::ranges::count(text, '.')), kMaxTomlPoints, "points");
  return toml::parse(text, name);
}

std::string TomlText(const toml::node& node) {
  if (const auto* number = node.as_floating_point()) return TomlNumber(number->get());
  if (const toml::array* list = node.as_array()) {
    std::string text;
    for (const toml::node& element : *list) text += (text.empty() ? "" : ", ") + TomlText(element);
    return "[" + text + "]";
  }
  std::ostringstream out;
  out << toml::toml_formatter(node, toml::format_flags::none);
  std::string text = out.str();
  std::ranges::replace(text, '\n', ' ');  // a table has several lines
  return text;
}

std::string_view TomlTypeOf(const toml::node& node) {
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

std::string Assign(const ConfigKey& key, const toml::node& node, Config& config) {
  return std::visit(Assigner{key, node, config}, key.member);
}

std::vector<ConfigValue> ConfigValues(const Config& config) {
  Config copy = config;  // the schema's accessors need a mutable Config
  std::vector<ConfigValue> values;
  for (const ConfigKey& key : ConfigSchema()) {
    values.push_back({key.section, key.key, std::visit(Writer{copy, key.rule}, key.member)});
  }
  return values;
}

std::string Difference(const Config& there, const Config& here,
                       const std::function<bool(const std::string& key)>& count) {
  const std::vector<ConfigValue> old_values = ConfigValues(there), new_values = ConfigValues(here);
  std::string text;
  for (std::size_t i = 0; i < new_values.size(); ++i) {
    const std::string key = fmt::format("{}.{}", new_values[i].section, new_values[i].key);
    const std::string &was = old_values[i].toml, &is = new_values[i].toml;
    if (key == "run.name" || key == "run.dir" || was == is || (count && !count(key))) continue;
    text += fmt::format("{}{} is {} there and {} here", text.empty() ? "" : "; ", key, was, is);
  }
  return text;
}

std::string ToToml(const Config& config) {
  std::string text, section;
  for (const ConfigValue& value : ConfigValues(config)) {
    if (value.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", value.section);
      section = value.section;
    }
    const bool automatic = std::ranges::count(config.automatic, section + "." + value.key) > 0;
    text +=
        fmt::format("{} = {}\n", value.key, automatic ? "\"auto\"  # " + value.toml : value.toml);
  }
  return text;
}

}  // namespace starling
