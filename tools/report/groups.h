// Groups the runs that differ only in their seed, names each group by the keys that distinguish it,
// and arranges groups that two keys distinguish in a grid.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "results/run_record.h"

namespace starling::report {

// A page, or a part of it: a set of runs whose groups are compared.
struct Part {
  std::string name;  // "" if it is the only one
  std::vector<results::LoadedRun> runs;
};

struct Group {
  std::string label;           // "bound = 4"
  results::FlatConfig config;  // without run.seed, run.name and run.dir, but with "simulated"
  std::vector<const results::LoadedRun*> runs;  // in the order in which they were given
  std::size_t style = 0;  // of its lines (GroupClass): its number, or its column's
  // The runs that count: all numbers of a group are over these.
  std::vector<const results::LoadedRun*> Finished() const;
  std::string Env() const;  // "minatar/breakout"
};

// Marks all but the first of the finished runs with equal configuration and seed, and adds a
// remark to them. Otherwise a copied directory would count as evidence.
void MarkRepeated(std::vector<results::LoadedRun>& runs);

// Returns the environments of all runs, each once, sorted.
std::vector<std::string> EnvsOf(const std::vector<Part>& parts);

// Returns a TOML value for people: without quotes; "(not there)" for "".
std::string Plain(const std::string& toml);

// Returns the groups in the order of their first runs. "simulated" counts as a key, so simulated
// and real runs are never in one group. Leaves out runs whose configuration cannot be read.
// REQUIRES: `runs` outlives the groups.
std::vector<Group> MakeGroups(const std::vector<results::LoadedRun>& runs);

// The group of `run`, or nullptr.
const Group* GroupOf(const results::LoadedRun& run, const std::vector<Group>& groups);

// A key in which groups differ, and its value in each of them as TOML ("": the key is absent).
struct KeyDifference {
  std::string key;
  std::vector<std::string> values;
};
std::vector<KeyDifference> Differences(const std::vector<Group>& groups);

// Chooses a few keys that together distinguish all groups, greedily: first the environment, then
// "simulated", last the keys whose "auto" follows from others; among equals the key that splits
// most.
std::vector<KeyDifference> TellingKeys(const std::vector<KeyDifference>& differences,
                                       std::size_t groups);

// The grid of groups that exactly two keys distinguish: the values of one key are the rows, those
// of the other the columns of heat maps and small figures.
struct FacetGrid {
  std::string row_key, column_key;                              // "actors.count", "staleness.bound"
  std::vector<std::string> rows, columns;                       // their values as Plain, in order
  std::vector<std::vector<std::optional<std::size_t>>> groups;  // [row][column]; nullopt: no group

  std::string RowKeyShort() const;                   // "count"
  std::string RowName(std::size_t row) const;        // "actors.count = 4"
  std::string ColumnName(std::size_t column) const;  // "bound = 4", short: columns are narrow
  // Returns of different environments share no scale: then each row has its own.
  bool rows_are_envs() const { return row_key == "env.name"; }
};

// Returns nullopt unless two keys distinguish all groups, each with at least two values. The rows
// are the environments, or else the key with fewer values.
std::optional<FacetGrid> FacetGridOf(const std::vector<Group>& groups);

// Returns each value once: numbers ascending, then texts in their given order, "unbounded" last.
std::vector<std::string> InOrder(const std::vector<std::string>& values);

// Gives all groups of a column the same style, so a style means the same in every row.
void StyleByColumn(const FacetGrid& grid, std::vector<Group>& groups);

}  // namespace starling::report
