#include "core/config/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace starling {

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
  std::ranges::replace(text, '\n', ' ');  // a table has several lines
  return text;
}

}  // namespace starling
