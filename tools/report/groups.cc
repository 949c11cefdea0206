#include "tools/report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tools/sweep/names.h"

namespace starling::report {
namespace {

constexpr char kSimulated[] = "simulated";

// What the time of a run is made of belongs to what was tried.
results::FlatConfig WhatWasTried(const results::LoadedRun& run) {
  results::FlatConfig config = run.config;
  for (const char* key : {"run.name", "run.dir"}) config.erase(key);
  config[kSimulated] = run.simulated ? "true" : "false";
  return config;
}

results::FlatConfig WithoutSeed(results::FlatConfig config) {
  config.erase("run.seed");
  return config;
}

int Rank(const std::string& key) {
  if (key == "env.name") return 0;
  if (key == kSimulated) return 1;
  // "auto" makes updates.* follow from the others.
  for (const char* section : {"updates.", "checkpoint.", "learner.", "run."}) {
    if (key.starts_with(section)) return 3;
  }
  return 2;
}

// How many groups `keys` tell apart.
std::size_t Classes(const std::vector<const KeyDifference*>& keys, std::size_t groups) {
  std::set<std::vector<std::string>> classes;
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<std::string> values;
    for (const KeyDifference* key : keys) values.push_back(key->values[group]);
    classes.insert(values);
  }
  return classes.size();
}

void Label(std::vector<Group>& groups) {
  constexpr std::size_t kMaxKeys = 3;  // a longer label is no label
  const std::vector<KeyDifference> telling = TellingKeys(Differences(groups), groups.size());
  std::vector<std::string> keys;
  for (const KeyDifference& difference : telling) keys.push_back(difference.key);
  keys = sweep::ShortKeys(keys);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::string label;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      label += fmt::format("{}{} = {}", k > 0 ? ", " : "", keys[k], Plain(telling[k].values[g]));
    }
    if (keys.size() > kMaxKeys) label = fmt::format("group {}", g + 1);
    groups[g].label = label.empty() ? groups[g].Env() : label;
  }
}

}  // namespace

std::string Plain(const std::string& toml) {
  if (toml.empty()) return "(not there)";
  const bool quoted = toml.size() >= 2 && (toml.front() == '"' || toml.front() == '\'');
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::vector<const results::LoadedRun*> Group::Finished() const {
  std::vector<const results::LoadedRun*> finished;
  std::ranges::copy_if(runs, std::back_inserter(finished), &results::LoadedRun::counts);
  return finished;
}

std::string Group::Env() const { return Plain(config.at("env.name")); }

void MarkRepeated(std::vector<results::LoadedRun>& runs) {
  std::map<results::FlatConfig, const results::LoadedRun*> seen;
  for (results::LoadedRun& run : runs) {
    if (!run.finished() || run.config.empty()) continue;
    const auto [first, is_new] = seen.emplace(WhatWasTried(run), &run);
    if (is_new) continue;
    run.repeated = true;
    run.troubles.push_back(fmt::format("the same configuration and seed as {}: that one counts",
                                       first->second->dir.string()));
  }
}

std::vector<Group> MakeGroups(const std::vector<results::LoadedRun>& runs) {
  std::vector<Group> groups;
  for (const results::LoadedRun& run : runs) {
    if (run.config.empty()) continue;
    const results::FlatConfig config = WithoutSeed(WhatWasTried(run));
    auto group = std::ranges::find(groups, config, &Group::config);
    if (group == groups.end())
      group = groups.insert(group, {.label = "", .config = config, .runs = {}});
    group->runs.push_back(&run);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g].style = g;
  Label(groups);
  return groups;
}

std::vector<KeyDifference> Differences(const std::vector<Group>& groups) {
  std::set<std::string> keys;
  for (const Group& group : groups) {
    for (const auto& [key, value] : group.config) keys.insert(key);
  }
  std::vector<KeyDifference> differences;
  for (const std::string& key : keys) {
    KeyDifference difference{key, {}};
    for (const Group& group : groups) {
      const auto found = group.config.find(key);
      difference.values.push_back(found == group.config.end() ? "" : found->second);
    }
    const std::string& first = difference.values.front();
    const bool same =
        std::ranges::count(difference.values, first) == static_cast<std::ptrdiff_t>(groups.size());
    if (!same) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<KeyDifference> TellingKeys(const std::vector<KeyDifference>& differences,
                                       std::size_t groups) {
  std::vector<const KeyDifference*> chosen, left;
  for (const KeyDifference& difference : differences) left.push_back(&difference);
  for (std::size_t now = 1; !left.empty() && now < groups; now = Classes(chosen, groups)) {
    // Causes before what follows from them, as long as they split.
    const auto worth = [&](const KeyDifference* key) {
      std::vector<const KeyDifference*> keys = chosen;
      keys.push_back(key);
      const std::size_t classes = Classes(keys, groups);
      return std::tuple(classes > now, -Rank(key->key), classes);
    };
    const auto best = std::ranges::max_element(left, {}, worth);  // the first of equals
    chosen.push_back(*best);
    left.erase(best);
  }
  std::vector<KeyDifference> telling;
  for (const KeyDifference* key : chosen) telling.push_back(*key);
  return telling;
}

}  // namespace starling::report
