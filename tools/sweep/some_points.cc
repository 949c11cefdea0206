// Some points of a grid: those of a [[where]], and those that are run alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/config/config_toml.h"
#include "core/error.h"
#include "core/text.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

void CheckConditions(const GridFile& file, Diagnostics& diagnostics) {
  for (const GridWhere& where : file.wheres) {
    for (const GridKey& key : where.when) {
      const auto varied = std::ranges::find(file.grid, key.name, &GridKey::name);
      if (varied == file.grid.end()) {
        diagnostics.Add(
            key.location,
            fmt::format("{} is no key of [grid]: conditions are on what varies", key.name));
        continue;
      }
      for (const GridValue& value : key.values) {
        if (std::ranges::count(varied->values, value.toml, &GridValue::toml) > 0) continue;
        const bool lists = varied->values.front().toml.starts_with('[');
        diagnostics.Add(
            value.location,
            fmt::format("{} = {} is no value of [grid]{}", key.name, value.toml,
                        lists ? "; values that are lists are written [[64], [128]]" : ""));
      }
    }
  }
}

bool Applies(const GridWhere& where, const GridPoint& point) {
  return std::ranges::all_of(where.when, [&](const GridKey& key) {
    return std::ranges::any_of(point.varied, [&](const auto& setting) {
      return setting.first == key.name &&
             std::ranges::count(key.values, setting.second, &GridValue::toml) > 0;
    });
  });
}

namespace {

constexpr char kSeed[] = "run.seed";

// Returns the values of a key of [grid], or of kSeed; none if it is neither.
std::vector<std::string> ValuesOf(const Grid& grid, const std::string& key) {
  std::vector<std::string> values;
  const auto add = [&](const std::string& toml) {
    if (std::ranges::count(values, toml) == 0) values.push_back(toml);
  };
  for (const GridPoint& point : grid.points) {
    for (const auto& [name, toml] : point.varied) {
      if (name == key) add(toml);
    }
  }
  for (const std::uint64_t seed : grid.seeds) {
    if (key == kSeed) add(fmt::to_string(seed));
  }
  return values;
}

// Whether `text` is `toml`: as in the file ("[64, 64]"), as after --set (adam for "adam"), or as in
// the name of a point (64-64).
bool Means(const std::string& text, const std::string& toml) {
  if (ValueName(text) == ValueName(toml) || TomlText(toml::value<std::string>(text)) == toml) {
    return true;
  }
  try {
    const toml::table one = ParseToml("it = " + text);
    return one.size() == 1 && TomlText(*one.get("it")) == toml;
  } catch (const toml::parse_error&) {
    return false;
  }
}

}  // namespace

void KeepOnly(Grid& grid, const std::vector<std::string>& only) {
  // 1. Find the wanted values of each key.
  std::map<std::string, std::set<std::string>> wanted;
  for (const std::string& pair : only) {
    const std::size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    if (equals == std::string::npos) {
      throw UserError(fmt::format("--only {}: write KEY=VALUE", pair));
    }
    const std::string value = pair.substr(equals + 1);
    const std::vector<std::string> values = ValuesOf(grid, key);
    if (values.empty()) {
      std::vector<std::string> keys;
      for (const auto& [name, toml] : grid.points.front().varied) keys.push_back(name);
      keys.push_back(kSeed);
      throw UserError(fmt::format("--only {}: the keys of this grid are {}{}", pair,
                                  fmt::join(keys, ", "), DidYouMean(key, keys)));
    }
    const auto found =
        std::ranges::find_if(values, [&](const std::string& toml) { return Means(value, toml); });
    if (found == values.end()) {
      throw UserError(fmt::format("--only {}: the values of {} in this grid are {}", pair, key,
                                  fmt::join(values, ", ")));
    }
    wanted[key].insert(*found);
  }
  // 2. Leave the others out.
  if (const auto seeds = wanted.find(kSeed); seeds != wanted.end()) {
    std::erase_if(grid.seeds, [&](std::uint64_t seed) {
      return !seeds->second.contains(fmt::to_string(seed));
    });
  }
  std::erase_if(grid.points, [&](const GridPoint& point) {
    return std::ranges::any_of(point.varied, [&](const auto& setting) {
      const auto values = wanted.find(setting.first);
      return values != wanted.end() && !values->second.contains(setting.second);
    });
  });
}

}  // namespace starling::sweep
