#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "results/statistics.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using monitor::Cell;
using monitor::GroupClass;
using monitor::Head;
using monitor::HtmlEscaped;

constexpr std::size_t kMaxAcross = 4;        // groups beside each other in a table
constexpr std::size_t kMaxRowsOpen = 20;     // of a table that is not folded
constexpr std::size_t kMaxRunsListed = 200;  // of more, those that are not as they should be

// Text for an absent value.
constexpr char kNone[] = "–";

std::string Number(const std::optional<double>& value) {
  return value ? results::Decimals(*value) : kNone;
}

std::string Code(const std::string& text) {
  return text.empty() ? kNone : fmt::format("<code>{}</code>", HtmlEscaped(text));
}

std::string Name(const Group& group) { return Chip(group.style) + HtmlEscaped(group.label); }

// The cell of a group that begins its row.
std::string GroupCell(const Group& group) {
  constexpr std::size_t kOneLine = 48;  // letters
  if (group.label.size() > kOneLine) return Cell(Name(group), "key");
  std::string name = Name(group);
  const std::string equals = " = ", held = "&nbsp;=&nbsp;";  // lines break only between keys
  for (std::size_t at = 0; (at = name.find(equals, at)) != std::string::npos;) {
    name.replace(at, equals.size(), held);
  }
  return Cell(name, "label");
}

std::string RunRow(const results::LoadedRun& run, const std::vector<Group>& groups,
                   Measure measure) {
  const Group* const group = GroupOf(run, groups);
  std::string state(results::NameOf(run.state)), how = state;
  std::ranges::replace(how, ' ', '-');
  const std::string seed = run.Key("run.seed");
  const auto& summary = run.summary;
  return "<tr>" + Cell(Code(run.dir.string()), "key") +
         Cell(group != nullptr ? Name(*group) : kNone, "key") +
         Cell(seed.empty() ? kNone : HtmlEscaped(seed)) +
         Cell(state + (run.simulated ? ", virtual time" : ""), ("word " + how).c_str()) +
         Cell(HtmlEscaped(fmt::format("{}", fmt::join(run.problems, "; "))), "long") +
         Cell(Rounded(run.steps())) + Cell(summary ? HumanTime(summary->seconds) : kNone) +
         Cell(summary ? Rounded(summary->steps_per_second) : kNone) +
         Cell(Number(ScoreOf(run, measure))) +
         Cell(summary ? fmt::format("{:.2f} / {}", summary->staleness.mean, summary->staleness.max)
                      : kNone) +
         "</tr>\n";
}

// "2 of 3 (1 with a return)": the finished runs, and how many of them have a return if not all.
std::string Finished(const Group& group, const GroupNumbers& numbers) {
  const auto all = std::ranges::count(group.runs, false, &results::LoadedRun::repeated);
  const std::size_t scored = numbers.scores.size();
  return fmt::format("{} of {}{}", numbers.finished, all,
                     scored < numbers.finished ? fmt::format(" ({} with a return)", scored) : "");
}

std::string ResultRow(const Group& group, const GroupNumbers& numbers, bool short_text) {
  const auto& [finished, scores, returns, interval, rate, bottleneck] = numbers;
  const auto returned = [&](double results::Spread::*which) {
    return Cell(returns ? results::Decimals((*returns).*which) : kNone);
  };
  // The explanation in parentheses is left out of a long table.
  const std::string limit = short_text ? bottleneck.substr(0, bottleneck.find(" (")) : bottleneck;
  return "<tr>" + GroupCell(group) + Cell(Finished(group, numbers)) +
         returned(&results::Spread::interquartile_mean) +
         Cell(interval
                  ? results::Decimals(interval->low) + " to " + results::Decimals(interval->high)
                  : kNone) +
         returned(&results::Spread::median) + returned(&results::Spread::mean) +
         Cell(rate ? Rounded(*rate) : kNone) + Cell(HtmlEscaped(limit), "long") + "</tr>\n";
}

std::string ToScoreRow(const Group& group, double score) {
  // 1. The seconds of each run: "8.31, 9.02, never".
  const std::vector<const results::LoadedRun*> finished = group.Finished();
  std::vector<std::string> each;
  for (const results::LoadedRun* run : finished) {
    const ToScore time = TimeTo(score, *run);
    each.push_back(!time.known    ? "unknown"
                   : time.reached ? SecondsText(time.reached->seconds)
                                  : "never");
  }
  // 2. The row, with the medians.
  const GroupToScore time = TimeTo(score, finished);
  const std::size_t unknown = finished.size() - time.known;
  const std::string never = time.known > 0 ? "never" : kNone;
  return "<tr>" + GroupCell(group) + Cell(fmt::format("{:g}", score)) +
         Cell(fmt::format("{} of {}{}", time.reached, time.known,
                          unknown > 0 ? fmt::format(" ({} without a curve)", unknown) : "")) +
         Cell(time.median ? HumanCount(time.median->steps) : never) +
         Cell(time.median ? SecondsText(time.median->seconds) : never) +
         Cell(fmt::format("{}", fmt::join(each, ", ")), "long") + "</tr>\n";
}

}  // namespace

std::string Chip(std::size_t style) {
  return fmt::format(
      "<svg class=\"chip\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><line class=\"line {}\" "
      "x1=\"0\" y1=\"5\" x2=\"26\" y2=\"5\"/></svg>",
      GroupClass(style));
}

std::string Legend(const std::vector<std::pair<std::size_t, std::string>>& lines) {
  std::string items;
  for (const auto& [style, name] : lines) {
    items += fmt::format("<li>{}{}</li>\n", Chip(style), HtmlEscaped(name));
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

std::string LongTable(const std::string& head, const std::vector<std::string>& rows,
                      const char* of) {
  const std::string table = monitor::Table(head, fmt::to_string(fmt::join(rows, "")));
  return rows.size() > kMaxRowsOpen
             ? monitor::Folded(fmt::format("all {} {}", rows.size(), of), table)
             : table;
}

std::string ResultTable(const std::vector<Group>& groups, Measure measure) {
  std::vector<std::string> rows;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto stratum = static_cast<std::uint32_t>(g);
    rows.push_back(ResultRow(groups[g], NumbersOf(groups[g], measure, stratum),
                             /*short_text=*/groups.size() > kMaxAcross));
  }
  return LongTable(
      Head({"group"}, 1) +
          Head({"finished", "interquartile mean", "95 % interval", "median", "mean", "steps/s"},
               0) +
          Head({"what limits the speed"}, 1),
      rows, "groups");
}

std::string ToScoreTable(const std::vector<Group>& groups, const Targets& targets) {
  std::vector<std::string> rows;
  for (const Group& group : groups) {
    if (const auto score = targets.For(group.Env())) rows.push_back(ToScoreRow(group, *score));
  }
  if (rows.empty()) return "";
  return LongTable(Head({"group"}, 1) +
                       Head({"score", "reached by", "median steps", "median seconds"}, 0) +
                       Head({"each run, seconds"}, 1),
                   rows, "groups");
}

std::string DifferenceTable(const std::vector<Group>& groups) {
  const std::vector<KeyDifference> differences = Differences(groups);
  if (differences.empty()) return "";
  std::vector<std::string> rows;
  // Many groups: a row per group and a column per key.
  if (groups.size() > kMaxAcross) {
    std::string head = Head({"group"}, 1);
    for (const KeyDifference& key : differences) head += "<th>" + Code(key.key) + "</th>";
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::string row = "<tr>" + GroupCell(groups[g]);
      for (const KeyDifference& key : differences) row += Cell(Code(key.values[g]));
      rows.push_back(row + "</tr>\n");
    }
    return LongTable(head, rows, "groups");
  }
  // Few groups: a row per key and a column per group.
  std::string head = Head({"key"}, 1);
  for (const Group& group : groups) head += "<th>" + Name(group) + "</th>";
  for (const KeyDifference& key : differences) {
    std::string row = "<tr>" + Cell(Code(key.key), "key");
    for (const std::string& value : key.values) row += Cell(Code(value));
    rows.push_back(row + "</tr>\n");
  }
  return LongTable(head, rows, "keys");
}

std::string RunTable(const std::vector<results::LoadedRun>& runs, const std::vector<Group>& groups,
                     Measure measure) {
  // 1. Every run, or of very many those that a reader must know of.
  const bool few = runs.size() <= kMaxRunsListed;
  std::vector<std::string> rows;
  for (const results::LoadedRun& run : runs) {
    if (few || !run.finished() || !run.problems.empty()) {
      rows.push_back(RunRow(run, groups, measure));
    }
  }
  // 2. The table, if it has rows.
  const std::string sentence =
      few ? ""
          : fmt::format(
                "<p class=\"faint\">{} of {} runs are finished, without a remark; "
                "<code>--data</code> writes a row for each run.</p>\n",
                runs.size() - rows.size(), runs.size());
  if (rows.empty()) return sentence;
  return sentence +
         LongTable(Head({"run", "group"}, 2) + Head({"seed"}, 0) + Head({"state", "remarks"}, 2) +
                       Head({"steps", "time", "steps/s", "return", "staleness mean / max"}, 0),
                   rows, few ? "runs" : "others");
}

}  // namespace starling::report
