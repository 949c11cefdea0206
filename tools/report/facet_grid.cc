#include "tools/report/facet_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "tools/sweep/names.h"

namespace starling::report {
namespace {

std::optional<double> NumberIn(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// Numbers, texts, "unbounded".
std::tuple<int, double> PlaceOf(const std::string& value) {
  const std::optional<double> number = NumberIn(value);
  if (number) return {0, *number};
  return {value == "unbounded" ? 2 : 1, 0};
}

std::size_t IndexOf(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

std::vector<std::string> PlainValues(const KeyDifference& key) {
  std::vector<std::string> values;
  for (const std::string& value : key.values) values.push_back(Plain(value));
  return values;
}

std::string Named(const std::string& key, const std::string& value) {
  return fmt::format("{} = {}", key, value);
}

}  // namespace

std::string FacetGrid::RowKeyShort() const { return sweep::ShortKeys({row_key, column_key})[0]; }
std::string FacetGrid::RowName(std::size_t row) const { return Named(row_key, rows[row]); }
std::string FacetGrid::ColumnName(std::size_t column) const {
  return Named(sweep::ShortKeys({row_key, column_key})[1], columns[column]);
}

std::vector<std::string> InOrder(const std::vector<std::string>& values) {
  std::vector<std::string> once;
  for (const std::string& value : values) {
    if (std::ranges::count(once, value) == 0) once.push_back(value);
  }
  std::ranges::stable_sort(once, {}, PlaceOf);
  return once;
}

std::optional<FacetGrid> FacetGridOf(const std::vector<Group>& groups) {
  const std::vector<KeyDifference> telling = TellingKeys(Differences(groups), groups.size());
  if (telling.size() != 2) return std::nullopt;
  const auto size = [](const KeyDifference& key) { return InOrder(PlainValues(key)).size(); };
  const bool swapped = telling[0].key != "env.name" && size(telling[1]) <= size(telling[0]);
  const KeyDifference& down = telling[swapped ? 1 : 0];
  const KeyDifference& across = telling[swapped ? 0 : 1];
  const std::vector<std::string> row_of = PlainValues(down), column_of = PlainValues(across);
  FacetGrid grid{.row_key = down.key,
                 .column_key = across.key,
                 .rows = InOrder(row_of),
                 .columns = InOrder(column_of),
                 .groups = {}};
  if (grid.rows.size() < 2 || grid.columns.size() < 2) return std::nullopt;
  grid.groups.resize(grid.rows.size(),
                     std::vector<std::optional<std::size_t>>(grid.columns.size()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    grid.groups[IndexOf(grid.rows, row_of[g])][IndexOf(grid.columns, column_of[g])] = g;
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
