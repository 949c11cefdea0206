#include "tools/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "monitor/progress.h"
#include "results/statistics.h"
#include "tools/report/html.h"
#include "tools/report/plot.h"

namespace starling::report {
namespace {

constexpr std::size_t kMaxAcross = 4;  // groups beside each other in a table

std::string Number(const std::optional<double>& value) {
  return value ? results::Decimals(*value) : "–";
}

// Of `run` among `groups`, or nothing.
std::optional<std::size_t> GroupOf(const results::LoadedRun& run,
                                   const std::vector<Group>& groups) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::ranges::count(groups[g].runs, &run) > 0) return g;
  }
  return std::nullopt;
}

std::string Troubles(const results::LoadedRun& run) {
  std::string text;
  for (const std::string& trouble : run.troubles) {
    text += (text.empty() ? "" : "; ") + Escaped(trouble);
  }
  return text;
}

std::string RunRow(const results::LoadedRun& run, const std::vector<Group>& groups,
                   Measure measure) {
  const std::optional<std::size_t> group = GroupOf(run, groups);
  std::string state(results::NameOf(run.state)), how = state;
  std::ranges::replace(how, ' ', '-');
  const std::string seed = run.Key("run.seed");
  const auto& summary = run.summary;
  return "<tr>" + Cell(fmt::format("<code>{}</code>", Escaped(run.dir.string())), "key") +
         Cell(group ? Chip(groups[*group].style) + Escaped(groups[*group].label) : "–", "key") +
         Cell(seed.empty() ? "–" : Escaped(seed)) +
         Cell(state + (run.simulated ? ", virtual time" : ""), ("word " + how).c_str()) +
         Cell(Troubles(run), "long") + Cell(Rounded(run.steps())) +
         Cell(summary ? HumanTime(summary->seconds) : "–") +
         Cell(summary ? Rounded(summary->steps_per_second) : "–") +
         Cell(Number(ScoreOf(run, measure))) +
         Cell(summary ? fmt::format("{:.2f} / {}", summary->staleness.mean, summary->staleness.max)
                      : "–") +
         "</tr>\n";
}

// Of many groups each has a line: the sentence, without what stands behind it.
std::string Bottleneck(const std::string& sentence, std::size_t groups) {
  return groups > kMaxAcross ? sentence.substr(0, sentence.find(" (")) : sentence;
}

// "2 of 3", and of how many of the two there is a return, if not of both.
std::string Finished(const Group& group, const GroupNumbers& numbers) {
  const auto all = std::ranges::count(group.runs, false, &results::LoadedRun::repeated);
  const std::size_t scored = numbers.scores.size();
  return fmt::format("{} of {}{}", numbers.finished, all,
                     scored < numbers.finished ? fmt::format(" ({} with a return)", scored) : "");
}

}  // namespace

std::string Chip(std::size_t style) {
  return fmt::format(
      "<svg class=\"chip\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><line class=\"line {}\" "
      "x1=\"0\" y1=\"5\" x2=\"26\" y2=\"5\"/></svg>",
      GroupClass(style));
}

std::string GroupCell(const Group& group) {
  constexpr std::size_t kOneLine = 48;  // letters
  if (group.label.size() > kOneLine) return Cell(Chip(group.style) + Escaped(group.label), "key");
  std::string label = Escaped(group.label);
  const std::string equals = " = ", held = "&nbsp;=&nbsp;";  // lines break between keys
  for (std::size_t at = 0; (at = label.find(equals, at)) != std::string::npos;) {
    label.replace(at, equals.size(), held);
  }
  return Cell(Chip(group.style) + label, "label");
}

std::string ResultTable(const std::vector<Group>& groups, Measure measure) {
  std::string rows;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupNumbers numbers = NumbersOf(groups[g], measure, static_cast<std::uint32_t>(g));
    const auto& [finished, scores, returns, interval, rate, bottleneck] = numbers;
    rows += "<tr>" + GroupCell(groups[g]) + Cell(Finished(groups[g], numbers)) +
            Cell(returns ? results::Decimals(returns->interquartile_mean) : "–") +
            Cell(interval
                     ? results::Decimals(interval->low) + " to " + results::Decimals(interval->high)
                     : "–") +
            Cell(returns ? results::Decimals(returns->median) : "–") +
            Cell(returns ? results::Decimals(returns->mean) : "–") +
            Cell(rate ? Rounded(*rate) : "–") +
            Cell(Escaped(Bottleneck(bottleneck, groups.size())), "long") + "</tr>\n";
  }
  return Table(
      Head({"group"}, 1) +
          Head({"finished", "interquartile mean", "95 % interval", "median", "mean", "steps/s"},
               0) +
          Head({"what limits the speed"}, 1),
      rows);
}

std::string DifferenceTable(const std::vector<Group>& groups) {
  const std::vector<KeyDifference> differences = Differences(groups);
  if (differences.empty()) return "";
  const auto code = [](const std::string& text) {
    return text.empty() ? "–" : fmt::format("<code>{}</code>", Escaped(text));
  };
  const auto name = [](const Group& group) { return Chip(group.style) + Escaped(group.label); };
  std::string head, rows;
  if (groups.size() > kMaxAcross) {
    head = Head({"group"}, 1);
    for (const KeyDifference& key : differences) head += "<th>" + code(key.key) + "</th>";
    for (std::size_t g = 0; g < groups.size(); ++g) {
      rows += "<tr>" + GroupCell(groups[g]);
      for (const KeyDifference& key : differences) rows += Cell(code(key.values[g]));
      rows += "</tr>\n";
    }
    return Table(head, rows);
  }
  head = Head({"key"}, 1);
  for (const Group& group : groups) head += "<th>" + name(group) + "</th>";
  for (const KeyDifference& key : differences) {
    rows += "<tr>" + Cell(code(key.key), "key");
    for (const std::string& value : key.values) rows += Cell(code(value));
    rows += "</tr>\n";
  }
  return Table(head, rows);
}

std::string RunTable(const std::vector<results::LoadedRun>& runs, const std::vector<Group>& groups,
                     Measure measure) {
  std::string rows;
  for (const results::LoadedRun& run : runs) rows += RunRow(run, groups, measure);
  return Table(Head({"run", "group"}, 2) + Head({"seed"}, 0) + Head({"state", "remarks"}, 2) +
                   Head({"steps", "time", "steps/s", "return", "staleness mean / max"}, 0),
               rows);
}

}  // namespace starling::report
