#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "tools/sweep/grid.h"

namespace starling::sweep {
namespace {

constexpr std::size_t kMaxValueLength = 40, kMaxNameLength = 160;

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('.') + 1); }

bool IsPlain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '+' || c == '-';
}

std::string Shortened(const std::string& name, std::string_view whole, std::size_t most) {
  if (name.size() <= most) return name;
  constexpr std::size_t kHash = 9;  // "-" and eight digits
  return fmt::format("{}-{:08x}", name.substr(0, most - kHash),
                     XXH32(whole.data(), whole.size(), 0));
}

}  // namespace

std::vector<std::string> ShortKeys(const std::vector<std::string>& keys) {
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    const bool alone = std::ranges::count(keys, LastPart(key), LastPart) == 1;
    names.emplace_back(alone ? LastPart(key) : std::string_view(key));
  }
  return names;
}

std::string ValueName(std::string_view toml) {
  std::string name;
  bool gap = false;
  for (const char c : toml) {
    if (IsPlain(c)) {
      if (gap && !name.empty()) name += '-';
      name += c;
    }
    gap = !IsPlain(c);
  }
  if (name.empty()) name = "empty";
  return Shortened(name, toml, kMaxValueLength);
}

std::string PointName(const std::vector<std::pair<std::string, std::string>>& settings) {
  if (settings.empty()) return "base";
  std::vector<std::string> keys;
  for (const auto& [key, value] : settings) keys.push_back(key);
  keys = ShortKeys(keys);
  std::string name, whole;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& value = settings[i].second;
    name += fmt::format("{}{}={}", i > 0 ? "," : "", keys[i], ValueName(value));
    whole += fmt::format("{}={}\n", keys[i], value);
  }
  return Shortened(name, whole, kMaxNameLength);
}

}  // namespace starling::sweep
