#include "core/config/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace starling {

toml::table ParseToml(std::string_view text, std::string_view name) {
  const toml::source_position start{1, 1};
  if (text.size() > kMostTomlBytes) {
    const std::string sentence = fmt::format(
        "{} bytes are more than a file of TOML may have here, {}", text.size(), kMostTomlBytes);
    throw toml::parse_error(sentence.c_str(), start);
  }
  const auto points = static_cast<std::size_t>(std::ranges::count(text, '.'));
  if (points > kMostTomlPoints) {
    const std::string sentence = fmt::format(
        "{} points are more than a file of TOML may have here, {}", points, kMostTomlPoints);
    throw toml::parse_error(sentence.c_str(), start);
  }
  return toml::parse(text, name);
}

std::string TomlText(const toml::node& node) {
  if (const auto* number = node.as_floating_point()) {
    std::string text = fmt::format("{}", number->get());
    if (text.find_first_of(".en") == std::string::npos) text += ".0";  // 2.0, but 1e-05 and inf
    return text;
  }
  if (const toml::array* list = node.as_array()) {
    std::string text;
    for (const toml::node& element : *list) text += (text.empty() ? "" : ", ") + TomlText(element);
    return "[" + text + "]";
  }
  std::ostringstream out;
  out << toml::toml_formatter(node, toml::format_flags::none);
  std::string text = out.str();
  std::ranges::replace(text, '\n', ' ');  // of a table
  return text;
}

}  // namespace starling
