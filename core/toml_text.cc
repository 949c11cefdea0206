#include "core/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace starling {

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
