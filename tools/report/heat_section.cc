#include "tools/report/heat_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/text.h"
#include "tools/report/heat_map.h"
#include "tools/report/html.h"

namespace starling::report {
namespace {

using CellOf = std::function<HeatCell(std::size_t group)>;

std::vector<std::vector<HeatCell>> CellsOf(const FacetGrid& grid, const CellOf& cell_of) {
  std::vector<std::vector<HeatCell>> cells;
  for (const auto& row : grid.groups) {
    cells.emplace_back();
    for (const auto& group : row) cells.back().push_back(group ? cell_of(*group) : HeatCell{});
  }
  return cells;
}

// Of a group none of whose runs is finished nothing is known.
HeatCell Plainly(const std::optional<double>& value,
                 const std::function<std::string(double)>& text) {
  return {.value = value, .text = value ? text(*value) : "–"};
}

// Of the moment when a group reached its score.
HeatCell CellOfScore(const Group& group, const Targets& targets, double Moment::*which,
                     const std::function<std::string(double)>& text) {
  const std::optional<double> score = targets.For(group.Env());
  if (!score) return {.text = "–"};
  const GroupToScore time = TimeTo(*score, group.Finished());
  if (time.known == 0) return {.text = "–"};
  const std::string note =
      time.reached < time.known ? fmt::format("{} of {}", time.reached, time.known) : "";
  if (!time.median) return {.text = "never", .note = note};
  const double value = (*time.median).*which;
  return {.value = value, .text = text(value), .note = note};
}

std::optional<double> MeanStaleness(const Group& group) {
  std::vector<double> means;
  for (const results::LoadedRun* run : group.Finished())
    means.push_back(run->summary->staleness.mean);
  return means.empty() ? std::nullopt : std::optional(results::Mean(means));
}

// "10", or which for which environment.
std::string ScoresAsked(const std::vector<Group>& groups, const Targets& targets) {
  std::vector<std::string> asked;
  for (const Group& group : groups) {
    const std::optional<double> score = targets.For(group.Env());
    if (!score) continue;
    const std::string text = fmt::format("{:g}", *score);
    if (std::ranges::count(asked, text) == 0) asked.push_back(text);
  }
  return fmt::format("{}", fmt::join(asked, " or "));
}

std::string Short(double value) {
  return std::abs(value) < 99.95 ? results::Decimals(value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::string HeatSection(const std::vector<Group>& groups, const FacetGrid* grid, Measure measure,
                        const Targets& targets) {
  if (grid == nullptr) return "";
  std::vector<GroupNumbers> numbers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    numbers.push_back(NumbersOf(groups[g], measure, static_cast<std::uint32_t>(g)));
  }
  const bool apart = grid->rows_are_envs();
  std::string maps;
  const auto add = [&](const std::string& caption, bool by_row, const CellOf& cell_of) {
    maps += DrawHeatMap({Escaped(caption), CellsOf(*grid, cell_of), by_row}, *grid);
  };
  if (const std::string scores = ScoresAsked(groups, targets); !scores.empty()) {
    add(fmt::format("seconds to a return of {}, median", scores), apart, [&](std::size_t g) {
      return CellOfScore(groups[g], targets, &Moment::seconds, SecondsText);
    });
    add(fmt::format("steps to a return of {}, median", scores), apart,
        [&](std::size_t g) { return CellOfScore(groups[g], targets, &Moment::steps, HumanCount); });
  }
  add("final return, interquartile mean", apart, [&](std::size_t g) {
    const auto& returns = numbers[g].returns;
    return Plainly(returns ? std::optional(returns->interquartile_mean) : std::nullopt, Short);
  });
  add("steps per second, mean", false,
      [&](std::size_t g) { return Plainly(numbers[g].steps_per_second, HumanCount); });
  add("realised staleness, mean of the runs' means", false,
      [&](std::size_t g) { return Plainly(MeanStaleness(groups[g]), Short); });
  return fmt::format(
      "<h2>{} by {}</h2>\n<p class=\"faint\">Of finished runs. The stronger the colour, the larger "
      "the number.</p>\n<div class=\"figures\">\n{}</div>\n",
      Escaped(grid->row_key), Escaped(grid->column_key), maps);
}

}  // namespace starling::report
