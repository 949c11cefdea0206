#include "results/flat_config.h"

#include <stdexcept>

#include "core/config/toml_text.h"

namespace starling::results {

FlatConfig Flatten(const std::string& toml) {
  toml::table document;
  try {
    document = ParseToml(toml);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(std::string(error.description()));
  }
  FlatConfig flat;
  for (const auto& [section, node] : document) {
    const toml::table* keys = node.as_table();
    if (keys == nullptr) continue;
    for (const auto& [key, value] : *keys) {
      flat[std::string(section.str()) + "." + std::string(key.str())] = TomlText(value);
    }
  }
  return flat;
}

}  // namespace starling::results
