#include "tools/sweep/grid.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/error.h"
#include "fleet/check_config.h"
#include "results/initial_net.h"
#include "tools/simulate/simulate.h"

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

// One value for each key of [grid].
using Choice = std::vector<const GridValue*>;

std::vector<Choice> Product(const std::vector<GridKey>& keys) {
  std::vector<Choice> choices = {{}};
  for (const GridKey& key : keys) {
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const GridValue& value : key.values) {
        longer.push_back(choice);
        longer.back().push_back(&value);
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

std::size_t CountRuns(const GridFile& file) {
  std::size_t runs = file.plan.seeds.size();
  for (const GridKey& key : file.grid) {
    runs = std::min(runs * key.values.size(), kMaxRuns + 1);  // the cap prevents an overflow
  }
  return runs;
}

// Refuses two values of a key that would have the same directory name.
void CheckNames(const GridKey& key, Diagnostics& diagnostics) {
  std::map<std::string, const GridValue*> seen;
  for (const GridValue& value : key.values) {
    const auto [before, is_new] = seen.emplace(ValueName(value.toml), &value);
    if (is_new) continue;
    const std::string& other = before->second->toml;
    diagnostics.Add(value.location,
                    other == value.toml
                        ? fmt::format("{} = {} is listed twice", key.name, value.toml)
                        : fmt::format("{} = {} and {} would both be called \"{}\" in the names of "
                                      "directories: write one of them differently",
                                      key.name, other, value.toml, before->first));
  }
}

// One override of a point, "section.key=value", with its key and value in the grid's file.
struct Setting {
  std::string text;
  const GridKey* key;
  const GridValue* value;
};

// Returns the overrides of a point, one for each key: those of [set], over them those of each
// [[where]] that applies, and those of [grid].
std::vector<Setting> SettingsOf(const GridFile& file, const GridPoint& point,
                                const Choice& choice) {
  std::vector<Setting> settings;
  const auto add = [&](const GridKey& key, const GridValue& value) {
    std::erase_if(settings, [&](const Setting& before) { return before.key->name == key.name; });
    settings.push_back({fmt::format("{}={}", key.name, value.toml), &key, &value});
  };
  for (const GridKey& key : file.set) add(key, key.values.front());
  for (const GridWhere& where : file.wheres) {
    if (!Applies(where, point)) continue;
    for (const GridKey& key : where.set) add(key, key.values.front());
  }
  for (std::size_t i = 0; i < choice.size(); ++i) add(file.grid[i], *choice[i]);
  return settings;
}

// Adds one error line of LoadConfig to the diagnostics, with its location in the grid's file if the
// line is about an override ("--set section.key=value: ...").
void AddFromConfig(const std::string& line, const GridFile& file, const std::filesystem::path& base,
                   const std::vector<Setting>& settings, Diagnostics& diagnostics) {
  for (const Setting& setting : settings) {
    const std::string prefix = fmt::format("--set {}: ", setting.text);
    if (!line.starts_with(prefix)) continue;
    const std::string sentence = line.substr(prefix.size());
    diagnostics.Add(
        sentence.starts_with("unknown ") ? setting.key->location : setting.value->location,
        sentence);
    return;
  }
  // Not about an override: keep the location in the configuration, if the line has one.
  if (const std::string prefix = base.string() + ":"; line.starts_with(prefix)) {
    const std::size_t end = line.find(": ", prefix.size());
    diagnostics.Add({.text = line.substr(0, end)}, line.substr(std::min(end, line.size() - 2) + 2));
    return;
  }
  diagnostics.Add(file.config_location, line);  // for example: the file cannot be read
}

// Finds the initial weights of the runs (run.init_from); reports weights that cannot be used.
void TryOutWeights(Config& config, const GridFile& file, const std::vector<Setting>& settings,
                   Diagnostics& diagnostics) {
  try {
    results::ResolveFirstWeights(config);
  } catch (const UserError& error) {
    SourceLocation location = file.config_location;
    for (const Setting& setting : settings) {
      if (setting.key->name == "run.init_from") location = setting.value->location;
    }
    diagnostics.Add(location, error.what());
  }
}

// Builds the configuration of one point and checks it as `train` or `simulate` would.
GridPoint TryOut(const GridFile& file, const std::filesystem::path& base, const Choice& choice,
                 Diagnostics& diagnostics) {
  // 1. Name the point after its values.
  GridPoint point;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    point.varied.emplace_back(file.grid[i].name, choice[i]->toml);
  }
  point.name = PointName(point.varied);
  // 2. Load the configuration with the overrides of this point.
  const std::vector<Setting> settings = SettingsOf(file, point, choice);
  std::vector<std::string> overrides;
  for (const Setting& setting : settings) overrides.push_back(setting.text);
  try {
    point.config = LoadConfig(base, overrides, nullptr,
                              file.plan.simulate ? simulate::CheckSimulation : fleet::CheckConfig);
    if (file.plan.simulate) simulate::SettleSimulation(point.config);
    TryOutWeights(point.config, file, settings, diagnostics);
  } catch (const UserError& error) {
    // 3. Give each mistake its location in the grid's file.
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      AddFromConfig(line, file, base, settings, diagnostics);
    }
  }
  return point;
}

// Refuses concurrent runs that share a port for their status pages.
void CheckPorts(const Grid& grid, Diagnostics& diagnostics) {
  for (const GridPoint& point : grid.points) {
    if (grid.at_once == 1 || point.config.status.port == 0) continue;
    return diagnostics.Add(
        {.text = grid.file.string()},
        fmt::format("at_once = {} contradicts status.port = {}: runs side by side "
                    "cannot be served on one port; set at_once = 1 or status.port = 0",
                    grid.at_once, point.config.status.port));
  }
}

// Refuses to evaluate what no part of Starling can play.
void CheckEvaluation(const Grid& grid, Diagnostics& diagnostics) {
  for (const GridPoint& point : grid.points) {
    if (grid.eval.episodes == 0 || !point.config.net.external()) continue;
    return diagnostics.Add(
        {.text = grid.file.string()},
        fmt::format(
            "eval_episodes = {} contradicts net.kind = \"external\": only your own programs "
            "can play with its nets; set eval_episodes = 0",
            grid.eval.episodes));
  }
}

// Refuses two points with the same configuration: each seed would count twice.
void CheckConfigs(const Grid& grid, Diagnostics& diagnostics) {
  std::map<std::string, const GridPoint*> seen;
  for (const GridPoint& point : grid.points) {
    std::string values;
    for (const ConfigValue& value : ConfigValues(point.config)) values += value.toml + '\n';
    const auto [before, is_new] = seen.emplace(values, &point);
    if (is_new) continue;
    diagnostics.Add({.text = grid.file.string()},
                    fmt::format("the points {} and {} are the same configuration: leave one out",
                                before->second->name, point.name));
  }
}

}  // namespace

Grid ReadGrid(const std::filesystem::path& path) {
  // 1. Read the file.
  Diagnostics diagnostics;
  const GridFile file = ReadGridFile(path, diagnostics);
  Grid grid = file.plan;
  grid.config = (path.parent_path() / grid.config).lexically_normal();
  if (grid.dir.string().starts_with('-')) grid.dir = "." / grid.dir;
  // 2. Build every point, unless the file has no configuration or too many points.
  for (const GridKey& key : file.grid) CheckNames(key, diagnostics);
  if (file.plan.config.empty() && file.config_location.line > 0) {
    // `config` has a wrong value: ReadGridFile has reported it.
  } else if (file.plan.config.empty()) {
    diagnostics.Add(
        file.config_location,
        "config = \"...\" is missing: the configuration that the grid varies, relative to "
        "this file");
  } else if (CountRuns(file) > kMaxRuns) {
    diagnostics.Add({.text = path.string()},
                    fmt::format("the grid has more than {} runs; leave some values out", kMaxRuns));
  } else {
    for (const Choice& choice : Product(file.grid)) {
      grid.points.push_back(TryOut(file, grid.config, choice, diagnostics));
    }
  }
  // 3. Compare the points with each other, then report all mistakes at once.
  if (diagnostics.Text().empty()) CheckConfigs(grid, diagnostics);
  CheckPorts(grid, diagnostics);
  CheckEvaluation(grid, diagnostics);
  if (const std::string text = diagnostics.Text(); !text.empty()) throw UserError(text);
  return grid;
}

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
