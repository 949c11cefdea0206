// All environments together: what each column of a grid reaches, beside the first one.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "results/over_tasks.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using monitor::Cell;
using monitor::Curve;
using monitor::DrawPlot;
using monitor::Figure;
using monitor::Head;
using monitor::HtmlEscaped;
using monitor::Plot;
using results::Estimate;
using results::TaskScores;

constexpr std::size_t kProfilePoints = 80;
constexpr double kProfileEnd = 2;  // times the reference

// The scores of a column, of each environment that counts; divided by the reference's.
struct Column {
  std::size_t number = 0;  // in the grid
  TaskScores scores;

  std::size_t runs() const {
    std::size_t sum = 0;
    for (const std::vector<double>& env : scores) sum += env.size();
    return sum;
  }
  // Of one run nobody knows how far another one would be from it.
  bool has_interval() const {
    return std::ranges::all_of(scores, [](const auto& env) { return env.size() > 1; });
  }
};

struct Table {
  std::vector<std::string> envs, left_out;
  std::vector<Column> columns;  // those with a run in each of `envs`; the first is the reference
};

// Takes the environments in which the first column has a positive score, as there is no share of
// others.
Table TableOf(const std::vector<Group>& groups, const FacetGrid& grid, Measure measure) {
  const auto scores_of = [&](std::size_t row, std::size_t column) {
    std::vector<double> scores;
    if (const std::optional<std::size_t> group = grid.groups[row][column]) {
      for (const results::LoadedRun* run : groups[*group].Finished()) {
        if (const auto score = ScoreOf(*run, measure)) scores.push_back(*score);
      }
    }
    return scores;
  };
  // 1. Choose the environments, and their scales.
  Table table;
  std::vector<std::pair<std::size_t, double>> rows;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const std::vector<double> reference = scores_of(row, 0);
    const double scale = reference.empty() ? 0 : results::InterquartileMean(reference);
    (scale > 0 ? table.envs : table.left_out).push_back(grid.rows[row]);
    if (scale > 0) rows.emplace_back(row, scale);
  }
  if (rows.empty()) return table;
  // 2. Scale the scores of each column that is complete.
  for (std::size_t number = 0; number < grid.columns.size(); ++number) {
    Column column{.number = number, .scores = {}};
    for (const auto& [row, scale] : rows) {
      std::vector<double> scores = scores_of(row, number);
      for (double& score : scores) score /= scale;
      if (!scores.empty()) column.scores.push_back(std::move(scores));
    }
    if (column.scores.size() == rows.size()) table.columns.push_back(std::move(column));
  }
  return table;
}

std::string EstimateCells(const Estimate& estimate, bool has_interval) {
  const auto [low, high] = estimate.interval;
  return Cell(fmt::format("{:.2f}", estimate.value)) +
         Cell(has_interval ? fmt::format("{:.2f} to {:.2f}", low, high) : "–");
}

// Of each column the mean over environments, in shares of the reference's mean; none if that is not
// positive in each of them.
std::vector<Estimate> PlainMeans(const Table& table) {
  std::vector<double> of_reference;
  for (const std::vector<double>& env : table.columns.front().scores) {
    of_reference.push_back(results::Mean(env));
    if (of_reference.back() <= 0) return {};
  }
  std::vector<Estimate> means;
  for (const Column& column : table.columns) {
    TaskScores scores = column.scores;
    for (std::size_t env = 0; env < scores.size(); ++env) {
      for (double& score : scores[env]) score /= of_reference[env];
    }
    means.push_back(results::MeanOver(scores));
  }
  return means;
}

std::vector<std::string> Rows(const Table& table, const std::vector<Estimate>& means,
                              const FacetGrid& grid) {
  std::vector<std::string> rows;
  const Column& reference = table.columns.front();
  const std::vector<Estimate> plain = PlainMeans(table);
  const std::string none = Cell("–") + Cell("–");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const std::string name = Chip(column.number) + HtmlEscaped(grid.column_names[column.number]);
    std::string better = none;
    if (c > 0) {
      better = EstimateCells(results::ProbabilityOfImprovement(column.scores, reference.scores),
                             column.has_interval() && reference.has_interval());
    }
    rows.push_back("<tr>" + Cell(name, "label") + Cell(fmt::format("{}", column.runs())) +
                   EstimateCells(means[c], column.has_interval()) +
                   (plain.empty() ? none : EstimateCells(plain[c], column.has_interval())) +
                   better + "</tr>\n");
  }
  return rows;
}

// Against the values of the columns' first key: the mean over all environments with its interval
// and, if that is a single line, each environment. "" if that key is no quantity.
std::string ByValue(const Table& table, const std::vector<Estimate>& means, const FacetGrid& grid) {
  const std::optional<ValueLines> lines = ValueLinesOf(grid);
  if (!lines) return "";
  // 1. All environments.
  std::vector<ByValueEstimate> all(grid.columns.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    all[column.number].value = means[c].value;
    if (column.has_interval()) all[column.number].interval = means[c].interval;
  }
  Plot plot = PlotByValue(*lines, all);
  plot.y_label = "return, of the reference's";
  if (lines->lines.size() > 1) {
    return Figure("interquartile mean", DrawPlot(plot) + LegendOf(*lines));
  }
  // 2. Each environment.
  std::vector<std::pair<std::size_t, std::string>> legend = {{0, "all"}};
  for (std::size_t env = 0; env < table.envs.size(); ++env) {
    Curve curve{.kind = Curve::Kind::kRun,
                .style = env + 1,
                .samples = {},
                .title = table.envs[env],
                .dots = true};
    for (const Column& column : table.columns) {
      curve.samples.push_back({static_cast<double>(lines->cells[column.number].place),
                               results::InterquartileMean(column.scores[env])});
    }
    plot.curves.insert(plot.curves.end() - 1, std::move(curve));
    legend.emplace_back(env + 1, table.envs[env]);
  }
  return Figure("interquartile mean", DrawPlot(plot) + Legend(legend));
}

// "" if there are more columns than styles of lines.
std::string Profiles(const Table& table, const FacetGrid& grid) {
  if (grid.columns.size() > monitor::kStyles) return "";
  Plot plot{.x_label = "return, of the reference's",
            .y_label = "share of runs with more",
            .from_zero = true};
  std::vector<std::pair<std::size_t, std::string>> legend;
  for (const Column& column : table.columns) {
    const std::string& name = grid.column_names[column.number];
    Curve curve{.style = column.number, .samples = {}, .title = name};
    for (std::size_t i = 0; i <= kProfilePoints; ++i) {
      const double x = kProfileEnd * static_cast<double>(i) / kProfilePoints;
      curve.samples.push_back({x, results::ShareAbove(x, column.scores)});
    }
    plot.curves.push_back(std::move(curve));
    legend.emplace_back(column.number, name);
  }
  return Figure("performance profiles", DrawPlot(plot) + Legend(legend));
}

std::string NotCompared(const std::string& why) {
  return fmt::format("<p class=\"notice\">Environments are not compared together: {}.</p>\n",
                     HtmlEscaped(why));
}

}  // namespace

std::string OverEnvsSection(const std::vector<Group>& groups, const FacetGrid* grid,
                            Measure measure) {
  // 1. Take what can be compared.
  if (grid == nullptr || !grid->rows_are_envs()) return "";
  const Table table = TableOf(groups, *grid, measure);
  if (table.envs.size() < 2 || table.columns.size() < 2) {
    return NotCompared(
        fmt::format("it needs two environments with a positive return of {}, and "
                    "another group in both",
                    grid->column_names.front()));
  }
  std::vector<Estimate> means;
  for (const Column& column : table.columns) {
    means.push_back(results::InterquartileMeanOver(column.scores));
  }
  // 2. Say what it is relative to, and what is left out.
  const std::string reference = grid->column_names[table.columns.front().number];
  std::string text = fmt::format(
      "Environments: {}. Returns are divided by the interquartile mean of the reference, {}, in "
      "the same environment, for the plain means by its mean: 1 is as good. The intervals, "
      "vertical lines in the figure, take that as it is.",
      fmt::join(table.envs, ", "), reference);
  if (!table.left_out.empty()) {
    text += fmt::format(" Left out, without a positive return of the reference: {}.",
                        fmt::join(table.left_out, ", "));
  }
  if (table.columns.size() < grid->columns.size()) {
    text += " Groups without a finished run in each of them are left out.";
  }
  if (grid->columns.size() > monitor::kStyles) {
    text += fmt::format(
        " {} groups an environment are more than {} styles of lines: no performance profiles.",
        grid->columns.size(), monitor::kStyles);
  }
  // 3. The figures and the table.
  const std::string figures = ByValue(table, means, *grid) + Profiles(table, *grid);
  return fmt::format("<h2>{}</h2>\n<p class=\"faint\">{}</p>\n", kOverEnvs, HtmlEscaped(text)) +
         (figures.empty() ? "" : "<div class=\"figures\">\n" + figures + "</div>\n") +
         LongTable(Head({"group"}, 1) +
                       Head({"runs", "interquartile mean", "95 % interval", "mean", "95 % interval",
                             "better than the reference", "95 % interval"},
                            0),
                   Rows(table, means, *grid), "groups");
}

}  // namespace starling::report
