#include "results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "core/config/config_toml.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/run_goal.h"
#include "results/run_dir.h"
#include "results/statistics.h"
#include "results/summary.h"

namespace starling::results {
namespace {

namespace fs = std::filesystem;

struct Text {
  std::string text;
  std::string problem;  // why it could not be read
};
constexpr char kMissing[] = "is missing";
constexpr std::uint64_t kNewest = 16 << 10;  // bytes of metrics.jsonl for a run without curves

Text TextOf(const fs::path& path) {
  try {
    return {ReadRegularFile(path), ""};
  } catch (const std::system_error& error) {
    const bool absent = error.code() == std::errc::no_such_file_or_directory;
    return {"", absent ? kMissing : "cannot be read: " + error.code().message()};
  }
}

// Removes the points beyond `steps`: the run was resumed from there.
template <class Point>
void TakeBack(std::vector<Point>& points, double steps) {
  while (!points.empty() && static_cast<double>(points.back().steps) > steps) points.pop_back();
}

std::optional<MetricPoint> PointOf(const std::string& line) {
  try {
    const nlohmann::json object = nlohmann::json::parse(line);
    MetricPoint point{object.at("steps").get<double>(), object.at("seconds").get<double>()};
    const nlohmann::json& mean_return = object.at("mean_return");
    if (!mean_return.is_null()) point.mean_return = mean_return.get<double>();
    if (object.contains("episodes")) point.episodes = object["episodes"].get<std::uint64_t>();
    const bool can_be = point.steps >= 0 && point.seconds >= 0 && IsPlausible(point.steps) &&
                        IsPlausible(point.seconds) && IsPlausible(point.mean_return.value_or(0));
    return can_be ? std::optional(point) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void AddPoints(const std::string& text, std::vector<MetricPoint>& points, int& damaged) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<MetricPoint> point = PointOf(line);
    if (!point) {
      if (!lines.eof()) ++damaged;
      continue;
    }
    TakeBack(points, point->steps);
    while (!points.empty() && points.back().seconds > point->seconds) points.pop_back();
    points.push_back(*point);
  }
}

double NumberOr(const std::string& toml, double otherwise) {
  double number = otherwise;  // stays if it is a word, or absent
  std::from_chars(toml.data(), toml.data() + toml.size(), number);
  return number;
}

void LoadConfigOf(LoadedRun& run) {
  const Text file = TextOf(run.dir / "config.toml");
  if (!file.problem.empty()) {
    run.problems.push_back("config.toml " + file.problem);
    return;
  }
  try {
    run.config = Flatten(file.text);
    for (const char* key : {"run.steps", "env.name"}) {
      if (run.Key(key).empty()) throw std::runtime_error(fmt::format("there is no {} in it", key));
    }
  } catch (const std::runtime_error& error) {
    run.config.clear();
    run.problems.push_back(fmt::format("config.toml is damaged: {}", error.what()));
  }
}

void LoadCurves(LoadedRun& run, bool whole) {
  const auto note = [&](const char* file, int damaged) {
    if (damaged == 0) return;
    run.problems.push_back(fmt::format(
        "{} of {} left out", Plural(static_cast<std::size_t>(damaged), "damaged line"), file));
  };
  // 1. Training.
  int damaged = 0;
  if (!whole) {
    run.metrics = NewestMetrics(run.dir, kNewest);
    return;
  }
  const Text metrics = TextOf(run.dir / "metrics.jsonl");
  run.metrics = ParseMetrics(metrics.text, damaged);
  note("metrics.jsonl", damaged);
  if (run.metrics.empty()) {
    run.problems.push_back(fmt::format("metrics.jsonl {}: no curves",
                                       metrics.problem.empty() ? "is empty" : metrics.problem));
  }
  // 2. Evaluations.
  for (const EvalLine& line : ReadEvalLines(run.dir, &damaged)) {
    TakeBack(run.evals, static_cast<double>(line.steps));
    run.evals.push_back(line);
  }
  note("eval.jsonl", damaged);
}

// Returns false if summary.json exists and cannot be understood.
bool LoadSummary(LoadedRun& run) {
  const std::string problem = TextOf(run.dir / "summary.json").problem;
  if (problem == kMissing) return true;
  const std::optional<RunResult> result = ReadSummary(run.dir);
  if (!result) {
    run.problems.push_back("summary.json " + (problem.empty() ? "is damaged" : problem));
    return false;
  }
  run.summary = result->training;
  run.error = result->error;
  // A program may lack the instructions of the configuration. A simulation's computes all of it.
  if (run.simulated && !run.config.empty() && !result->instructions.empty()) {
    run.config["actors.instructions"] = "\"" + result->instructions + "\"";
  }
  return true;
}

// A curve that ends early would shorten the curve of its group.
void LeaveOutShortCurves(LoadedRun& run) {
  const auto steps = static_cast<double>(run.summary->steps);
  if (run.metrics.empty() || run.metrics.back().steps >= 0.99 * steps) return;
  run.problems.push_back(fmt::format("metrics.jsonl ends at {:.0f} % of its steps: no curves",
                                     100 * run.metrics.back().steps / steps));
  run.metrics.clear();
}

void LoadFinalEval(LoadedRun& run) {
  run.final_eval = ReadFinalEval(run.dir);
  if (!run.final_eval) return;
  if (run.summary && run.summary->checkpoint == run.final_eval->checkpoint) return;
  run.final_eval.reset();
  run.problems.emplace_back("final_eval.json is not of its final weights: left out");
}

}  // namespace

std::string_view NameOf(RunState state) {
  static constexpr std::array<std::string_view, 6> kNames = {"not begun", "unfinished", "running",
                                                             "finished",  "failed",     "damaged"};
  return kNames[static_cast<std::size_t>(state)];
}

FlatConfig Flatten(const std::string& toml) {
  toml::table document;
  try {
    document = ParseToml(toml);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(std::string(error.description()));
  }
  FlatConfig flat;
  for (const auto& [section, node] : document) {
    const toml::table* keys = node.as_table();
    if (keys == nullptr) continue;
    for (const auto& [key, value] : *keys) {
      flat[std::string(section.str()) + "." + std::string(key.str())] = TomlText(value);
    }
  }
  return flat;
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
  damaged = 0;
  AddPoints(text, points, damaged);
  return points;
}

std::vector<MetricPoint> NewestMetrics(const fs::path& run_dir, std::uint64_t bytes) {
  int damaged = 0;  // the first line is cut
  return ParseMetrics(ReadFileEnd(run_dir / "metrics.jsonl", bytes), damaged);
}

bool MetricsTail::Read() {
  constexpr std::uint64_t kMostBytes = 8 << 20;  // thousands of lines, a tenth of a second
  // 1. Begin anew with another file.
  std::error_code none;
  const std::uintmax_t size = fs::file_size(file_, none);
  bool changed = false;
  if (none || size < offset_) {
    changed = !points_.empty();
    offset_ = 0;
    points_.clear();
  }
  behind_ = false;
  if (none || size == offset_) return changed;

  // 2. Read whole lines.
  std::ifstream file(file_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset_));
  std::string text(std::min<std::uint64_t>(size - offset_, kMostBytes), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) {
    if (text.size() == kMostBytes) offset_ += kMostBytes;  // no line is so long: it is damaged
    return changed;
  }
  text.resize(end + 1);
  offset_ += text.size();
  behind_ = offset_ < size && size - offset_ > kMostBytes / 8;
  int damaged = 0;
  AddPoints(text, points_, damaged);
  return true;
}

LoadedRun LoadRun(const fs::path& dir, bool curves) {
  // 1. Read every file.
  LoadedRun run{.dir = dir, .simulated = IsSimulated(dir)};
  LoadConfigOf(run);
  LoadCurves(run, curves);
  const bool sound = LoadSummary(run) && !run.config.empty();
  LoadFinalEval(run);

  // 2. Decide its state.
  const double wanted = NumberOr(run.Key("run.steps"), 0);
  const learner::RunGoal goal{.steps = static_cast<std::uint64_t>(wanted),
                              .until_return = NumberOr(run.Key("run.until_return"), kNever)};
  if (!sound) {
    run.state = RunState::kDamaged;
  } else if (run.summary && goal.Reached(*run.summary)) {
    run.state = RunState::kFinished;
    LeaveOutShortCurves(run);
  } else {
    run.state = run.error.empty() ? RunState::kUnfinished : RunState::kFailed;
    if (!run.error.empty()) run.problems.push_back(run.error);
    run.problems.push_back(
        fmt::format("is at {:.0f} % of its steps", wanted > 0 ? 100 * run.steps() / wanted : 0));
  }
  return run;
}

}  // namespace starling::results
