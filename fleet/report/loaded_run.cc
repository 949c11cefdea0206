#include "fleet/report/loaded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "core/file.h"
#include "fleet/sweep/last_words.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<std::string> TextOf(const fs::path& path) {
  try {
    return ReadFile(path);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Calls take(json) for every line that is JSON; take throws if it is not what it should be.
template <class Take>
void ForEachLine(const std::string& text, int& damaged, Take take) {
  damaged = 0;
  const std::vector<std::string> lines = LinesOf(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      take(json::parse(lines[i]));
    } catch (const json::exception&) {
      const bool cut = i + 1 == lines.size();
      damaged += cut ? 0 : 1;
    }
  }
}

// What the run did beyond `steps` before it was gone on with from there counts no more.
template <class Point>
void TakeBack(std::vector<Point>& points, double steps) {
  while (!points.empty() && points.back().steps > steps) points.pop_back();
}

void LoadConfigOf(LoadedRun& run) {
  const std::optional<std::string> text = TextOf(run.dir / "config.toml");
  if (!text) {
    run.troubles.emplace_back("config.toml is missing");
    return;
  }
  try {
    run.config = Flatten(*text);
    for (const char* key : {"run.steps", "env.name"}) {
      if (run.Key(key).empty()) throw std::runtime_error(fmt::format("there is no {} in it", key));
    }
  } catch (const std::runtime_error& error) {
    run.config.clear();
    run.troubles.push_back(fmt::format("config.toml is damaged: {}", error.what()));
  }
}

void LoadCurves(LoadedRun& run) {
  const std::optional<std::string> metrics = TextOf(run.dir / "metrics.jsonl");
  if (!metrics) run.troubles.emplace_back("metrics.jsonl is missing: no curves");
  const auto note = [&](const char* file, int damaged) {
    if (damaged == 0) return;
    run.troubles.push_back(
        fmt::format("{} damaged line{} of {} left out", damaged, damaged == 1 ? "" : "s", file));
  };
  int damaged = 0;
  run.metrics = ParseMetrics(metrics.value_or(""), damaged);
  note("metrics.jsonl", damaged);
  run.evals = ParseEvals(TextOf(run.dir / "eval.jsonl").value_or(""), damaged);
  note("eval.jsonl", damaged);
}

// What RunSummary does not hold. False if summary.json is there, but damaged.
bool LoadSummary(LoadedRun& run) {
  const std::optional<std::string> text = TextOf(run.dir / "summary.json");
  if (!text) return true;
  run.summary = ReadRunSummary(run.dir);
  if (!run.summary) {
    run.troubles.emplace_back("summary.json is damaged");
    return false;
  }
  const json summary = json::parse(*text);
  try {
    run.staleness = summary.at("staleness").at("histogram").get<std::vector<std::uint64_t>>();
    const json& actors = summary.at("time").at("actors");
    const json& learner = summary.at("time").at("learner");
    run.time = {.actors = {actors.at("wait"), actors.at("refresh"), actors.at("act"),
                           actors.at("gradient"), actors.at("push")},
                .learner = {learner.at("receive"), learner.at("dispatch"), learner.at("idle"),
                            learner.at("lanes")}};
  } catch (const json::exception&) {
    run.troubles.emplace_back("summary.json does not tell staleness and times");
  }
  return true;
}

std::string LastErrorOf(const fs::path& dir) {
  constexpr std::size_t kTail = 256 << 10;
  const std::string text = TextOf(dir / "log").value_or("");
  return LastError(LinesOf(text.substr(text.size() - std::min(text.size(), kTail))));
}

}  // namespace

std::string_view NameOf(RunState state) {
  switch (state) {
    case RunState::kFinished:
      return "finished";
    case RunState::kUnfinished:
      return "unfinished";
    case RunState::kFailed:
      return "failed";
    case RunState::kDamaged:
      return "damaged";
    case RunState::kNotBegun:
      break;
  }
  return "not begun";
}

std::string LoadedRun::Key(const std::string& key) const {
  const auto found = config.find(key);
  return found == config.end() ? "" : found->second;
}

double LoadedRun::steps() const {
  const double told = summary ? static_cast<double>(summary->steps) : 0;
  return std::max(told, metrics.empty() ? 0 : metrics.back().steps);
}

std::vector<MetricPoint> ParseMetrics(const std::string& text, int& damaged) {
  std::vector<MetricPoint> points;
  ForEachLine(text, damaged, [&](const json& line) {
    MetricPoint point{line.at("steps").get<double>(), line.at("seconds").get<double>(), {}};
    const json& mean_return = line.at("mean_return");
    if (!mean_return.is_null()) point.mean_return = mean_return.get<double>();
    TakeBack(points, point.steps);
    while (!points.empty() && points.back().seconds > point.seconds) points.pop_back();
    points.push_back(point);
  });
  return points;
}

std::vector<EvalPoint> ParseEvals(const std::string& text, int& damaged) {
  std::vector<EvalPoint> points;
  ForEachLine(text, damaged, [&](const json& line) {
    const EvalPoint point{line.at("steps").get<double>(), line.at("mean_return").get<double>()};
    TakeBack(points, point.steps);
    points.push_back(point);
  });
  return points;
}

LoadedRun LoadRun(const fs::path& dir) {
  LoadedRun run{.dir = dir};
  LoadConfigOf(run);
  LoadCurves(run);
  const bool sound = LoadSummary(run) && !run.config.empty();
  run.final_eval = ReadFinalEval(dir);
  double wanted = 0;
  const std::string steps = run.Key("run.steps");
  std::from_chars(steps.data(), steps.data() + steps.size(), wanted);
  if (!sound) {
    run.state = RunState::kDamaged;
  } else if (run.summary && static_cast<double>(run.summary->steps) >= wanted) {
    run.state = RunState::kFinished;
  } else {
    const std::string error = LastErrorOf(dir);
    run.state = error.empty() ? RunState::kUnfinished : RunState::kFailed;
    if (!error.empty()) run.troubles.push_back(error);
    run.troubles.push_back(fmt::format("stopped at {:.0f} % of its steps",
                                       wanted > 0 ? 100 * run.steps() / wanted : 0));
  }
  return run;
}

}  // namespace starling::fleet
