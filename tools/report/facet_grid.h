// Where exactly two keys tell the groups of a page apart, the groups lie in a grid: one key goes
// down, the other across. Heat maps and rows of small figures are laid out so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/groups.h"

namespace starling::report {

struct FacetGrid {
  std::string row_key, column_key;         // "actors.count", "staleness.bound"
  std::vector<std::string> rows, columns;  // their values as people read them, in order
  std::vector<std::vector<std::optional<std::size_t>>> groups;  // [row][column]; nothing: no such

  std::string RowKeyShort() const;                   // "count"
  std::string RowName(std::size_t row) const;        // "actors.count = 4"
  std::string ColumnName(std::size_t column) const;  // "bound = 4": these stand close together
  // Then what is measured in returns has a scale of its own in every row.
  bool rows_are_envs() const { return row_key == "env.name"; }
};

// Nothing unless two keys tell all groups apart, each with at least two values. The rows are the
// key with fewer values, or the environments.
std::optional<FacetGrid> FacetGridOf(const std::vector<Group>& groups);

// Each value once: numbers in their order, then texts as they come, "unbounded" last of all.
std::vector<std::string> InOrder(const std::vector<std::string>& values);

// All groups of a column get the same style, so that it means the same in every row.
void StyleByColumn(const FacetGrid& grid, std::vector<Group>& groups);

}  // namespace starling::report
