#include "tools/report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "tools/sweep/grid.h"

namespace starling::report {
namespace {

constexpr char kSimulated[] = "simulated";

// The configuration that distinguishes a run. Virtual and real time are never comparable, so
// "simulated" is a key of it.
results::FlatConfig Distinguishing(const results::LoadedRun& run) {
  results::FlatConfig config = run.config;
  for (const char* key : {"run.name", "run.dir"}) config.erase(key);
  config[kSimulated] = run.simulated ? "true" : "false";
  return config;
}

int Rank(const KeyDifference& key) {
  if (key.key == "env.name") return 0;
  if (key.key == kSimulated) return 1;
  // Rates are tuned for what else is varied, and "auto" makes updates.* follow from the others.
  const bool rate = key.key.starts_with("optimizer.");
  if (key.varied) return rate ? 3 : 2;
  if (rate) return 5;
  for (const char* section : {"updates.", "checkpoint.", "learner.", "run."}) {
    if (key.key.starts_with(section)) return 6;
  }
  return 4;
}

// Returns the number of groups that `keys` distinguish.
std::size_t Classes(const std::vector<KeyDifference>& keys, std::size_t groups) {
  std::set<std::vector<std::string>> classes;
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<std::string> values;
    for (const KeyDifference& key : keys) values.push_back(key.values[group]);
    classes.insert(values);
  }
  return classes.size();
}

std::size_t IndexOf(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

void Label(std::vector<Group>& groups) {
  constexpr std::size_t kMaxKeys = 3;  // more keys make the label too long to read
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

// Sorts numbers before texts, and "unbounded" behind both.
std::tuple<int, double> PlaceOf(const std::string& value) {
  if (const auto number = NumberOf(value)) return {0, *number};
  return {value == "unbounded" ? 2 : 1, 0};
}

// The values of some keys together, for people.
struct Values {
  std::vector<std::string> of_group, in_order;
  std::vector<std::vector<std::string>> each{};  // of those in order: the value of each key
};

std::vector<std::string> PlainValues(const KeyDifference& key) {
  std::vector<std::string> values;
  std::ranges::transform(key.values, std::back_inserter(values), Plain);
  return values;
}

// In the order of the first key, then of the second, and so on.
Values Together(const std::vector<KeyDifference>& keys) {
  const std::size_t groups = keys.front().values.size();
  std::vector<std::vector<std::string>> each(groups);
  std::vector<std::vector<std::size_t>> places(groups);
  Values values{.of_group = {}, .in_order = {}};
  for (const KeyDifference& key : keys) {
    const std::vector<std::string> plain = PlainValues(key), order = InOrder(plain);
    for (std::size_t g = 0; g < groups; ++g) {
      each[g].push_back(plain[g]);
      places[g].push_back(IndexOf(order, plain[g]));
    }
  }
  std::map<std::vector<std::size_t>, std::vector<std::string>> sorted;
  for (std::size_t g = 0; g < groups; ++g) {
    values.of_group.push_back(fmt::to_string(fmt::join(each[g], ", ")));
    sorted.emplace(places[g], each[g]);
  }
  for (const auto& [place, texts] : sorted) {
    values.in_order.push_back(fmt::to_string(fmt::join(texts, ", ")));
    values.each.push_back(texts);
  }
  return values;
}

}  // namespace

std::string Plain(const std::string& toml) {
  if (toml.empty()) return "(not there)";
  const bool quoted = toml.size() >= 2 && (toml.front() == '"' || toml.front() == '\'');
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::optional<double> NumberOf(const std::string& value) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::vector<const results::LoadedRun*> Group::Finished() const {
  std::vector<const results::LoadedRun*> finished;
  std::ranges::copy_if(runs, std::back_inserter(finished), &results::LoadedRun::counts);
  return finished;
}

std::string Group::Env() const { return Plain(config.at("env.name")); }

void RemoveOvertaken(std::vector<results::LoadedRun>& runs) {
  // 1. Find the runs of each place.
  const auto place_of = [](const results::LoadedRun& run) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(run.dir, ignored), ignored);
  };
  std::map<std::filesystem::path, std::vector<const results::LoadedRun*>> by_place;
  for (const results::LoadedRun& run : runs) by_place[place_of(run)].push_back(&run);
  // 2. Leave out those that another has overtaken.
  const auto is_kept = [&](const results::LoadedRun& run) {
    return std::ranges::none_of(by_place[place_of(run)], [&](const results::LoadedRun* other) {
      const bool is_later = other > &run;  // both are elements of `runs`
      return !run.finished() && (other->finished() || is_later) &&
             (run.config.empty() || Distinguishing(run) == Distinguishing(*other));
    });
  };
  std::vector<results::LoadedRun> kept;
  std::ranges::copy_if(runs, std::back_inserter(kept), is_kept);
  runs = std::move(kept);
}

void MarkRepeated(std::vector<results::LoadedRun>& runs) {
  std::map<results::FlatConfig, const results::LoadedRun*> seen;
  for (results::LoadedRun& run : runs) {
    if (!run.counts() || run.config.empty()) continue;  // it may be marked already
    const auto [first, is_new] = seen.emplace(Distinguishing(run), &run);
    if (is_new) continue;
    run.repeated = true;
    run.problems.push_back(fmt::format("the same configuration and seed as {}: that one counts",
                                       first->second->dir.string()));
  }
}

std::vector<std::string> EnvsOf(const std::vector<Part>& parts) {
  std::set<std::string> envs;
  for (const Part& part : parts) {
    for (const results::LoadedRun& run : part.runs) {
      if (!run.config.empty()) envs.insert(Plain(run.Key("env.name")));
    }
  }
  return {envs.begin(), envs.end()};
}

std::vector<Group> MakeGroups(const std::vector<results::LoadedRun>& runs) {
  std::vector<Group> groups;
  for (const results::LoadedRun& run : runs) {
    if (run.config.empty()) continue;
    results::FlatConfig config = Distinguishing(run);
    config.erase("run.seed");
    auto group = std::ranges::find(groups, config, &Group::config);
    if (group == groups.end()) {
      group = groups.insert(group, {.label = "", .config = config, .runs = {}});
      group->style = groups.size() - 1;
    }
    group->runs.push_back(&run);
  }
  Label(groups);
  return groups;
}

const Group* GroupOf(const results::LoadedRun& run, const std::vector<Group>& groups) {
  const auto holds = [&](const Group& group) { return std::ranges::count(group.runs, &run) > 0; };
  const auto found = std::ranges::find_if(groups, holds);
  return found == groups.end() ? nullptr : &*found;
}

std::vector<KeyDifference> Differences(const std::vector<Group>& groups) {
  // 1. Collect the keys of all groups: runs of several versions may lack some.
  std::set<std::string> keys;
  for (const Group& group : groups) {
    for (const auto& [key, value] : group.config) keys.insert(key);
  }
  // 2. Keep those with more than one value.
  std::vector<KeyDifference> differences;
  for (const std::string& key : keys) {
    KeyDifference difference{key, {}};
    for (const Group& group : groups) {
      for (const results::LoadedRun* run : group.runs) {
        difference.varied |= std::ranges::count(run->varied, key) > 0;
      }
      const auto found = group.config.find(key);
      difference.values.push_back(found == group.config.end() ? "" : found->second);
    }
    const std::set<std::string> values(difference.values.begin(), difference.values.end());
    if (values.size() > 1) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<KeyDifference> TellingKeys(const std::vector<KeyDifference>& differences,
                                       std::size_t groups) {
  std::vector<KeyDifference> chosen, left = differences;
  for (std::size_t now = 1; !left.empty() && now < groups; now = Classes(chosen, groups)) {
    // Prefer a key that splits a class, then causes to their consequences, then the larger split.
    const auto worth = [&](const KeyDifference& key) {
      std::vector<KeyDifference> keys = chosen;
      keys.push_back(key);
      const std::size_t classes = Classes(keys, groups);
      return std::tuple(classes > now, -Rank(key), classes);
    };
    const auto best = std::ranges::max_element(left, {}, worth);  // the first of equals
    chosen.push_back(*best);
    left.erase(best);
  }
  return chosen;
}

bool AreQuantities(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [](const std::string& value) {
    return value == "unbounded" || NumberOf(value).has_value();
  });
}

std::string FacetGrid::ColumnKey() const { return fmt::to_string(fmt::join(column_keys, ", ")); }

std::string FacetGrid::RowKeyShort() const {
  std::vector<std::string> keys = column_keys;
  keys.push_back(row_key);
  return sweep::ShortKeys(keys).back();
}

std::string FacetGrid::RowName(std::size_t row) const { return row_key + " = " + rows[row]; }

std::vector<std::string> InOrder(const std::vector<std::string>& values) {
  std::vector<std::string> once;
  for (const std::string& value : values) {
    if (std::ranges::count(once, value) == 0) once.push_back(value);
  }
  std::ranges::stable_sort(once, {}, PlaceOf);
  return once;
}

std::optional<FacetGrid> FacetGridOf(const std::vector<Group>& groups) {
  // 1. Choose the key of the rows: the environment, or of two the key with fewer values.
  std::vector<KeyDifference> across = TellingKeys(Differences(groups), groups.size());
  if (across.size() < 2) return std::nullopt;
  const bool envs = across.front().key == "env.name";
  if (across.size() > 2 && !envs) return std::nullopt;
  const auto size = [](const KeyDifference& key) { return InOrder(PlainValues(key)).size(); };
  if (!envs && size(across[1]) <= size(across[0])) std::swap(across[0], across[1]);
  const KeyDifference down = across.front();
  across.erase(across.begin());
  std::ranges::stable_partition(
      across, [](const KeyDifference& key) { return AreQuantities(PlainValues(key)); });
  // 2. Name rows and columns.
  const Values rows = Together({down}), columns = Together(across);
  std::vector<std::string> keys;
  for (const KeyDifference& key : across) keys.push_back(key.key);
  FacetGrid grid{.row_key = down.key,
                 .column_keys = keys,
                 .rows = rows.in_order,
                 .columns = columns.in_order,
                 .column_names = {},
                 .groups = {},
                 .column_values = columns.each};
  if (grid.rows.size() < 2 || grid.columns.size() < 2) return std::nullopt;
  const std::string name = fmt::format("{} = ", fmt::join(sweep::ShortKeys(keys), ", "));
  for (const std::string& column : grid.columns) grid.column_names.push_back(name + column);
  // 3. Put each group into its cell.
  grid.groups.resize(grid.rows.size(),
                     std::vector<std::optional<std::size_t>>(grid.columns.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    grid.groups[IndexOf(grid.rows, rows.of_group[g])][IndexOf(grid.columns, columns.of_group[g])] =
        g;
  }
  return grid;
}

void StyleByColumn(const FacetGrid& grid, std::vector<Group>& groups) {
  for (const auto& row : grid.groups) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column]) groups[*row[column]].style = column;
    }
  }
}

}  // namespace starling::report
