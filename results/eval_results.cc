#include "results/eval_results.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "core/file.h"
#include "core/log.h"
#include "results/statistics.h"

namespace starling::results {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kEvalFile[] = "eval.jsonl", kFinalEvalFile[] = "final_eval.json";

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvalLine, steps, term, version, episodes, mean_return, std,
                                   seconds)

Json ToJson(const EvalLine& line) {
  return {{"steps", line.steps},
          {"term", line.term},
          {"version", line.version},
          {"episodes", line.episodes},
          {"mean_return", line.mean_return},
          {"std", line.std},
          {"seconds", line.seconds}};
}

std::vector<EvalLine> ReadEvalLines(const fs::path& run_dir, int* damaged) {
  std::vector<EvalLine> lines;
  if (damaged != nullptr) *damaged = 0;
  std::istringstream file;
  try {
    file.str(ReadRegularFile(run_dir / kEvalFile));
  } catch (const std::system_error&) {
    return lines;
  }
  for (std::string text; std::getline(file, text);) {
    try {
      lines.push_back(nlohmann::json::parse(text).get<EvalLine>());
    } catch (const nlohmann::json::exception&) {
      if (damaged != nullptr && !file.eof()) ++*damaged;
    }
  }
  return lines;
}

EvalStanding ReadEvalStanding(const fs::path& run_dir) {
  const std::vector<EvalLine> lines = ReadEvalLines(run_dir);
  EvalStanding standing;
  if (!lines.empty()) standing.last = lines.back();
  try {
    const learner::Checkpoint best = learner::ReadCheckpoint(BestPath(run_dir));
    const auto found = std::ranges::find(lines, std::pair(best.term, best.version), &EvalLine::age);
    if (found != lines.end()) standing.best = *found;
  } catch (const std::runtime_error&) {  // none yet, or damaged: the next one replaces it
  }
  return standing;
}

fs::path BestPath(const fs::path& run_dir) {
  return run_dir / "checkpoints" / learner::kBestCheckpoint;
}

void RemoveUnfinishedBest(const fs::path& run_dir) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(run_dir / "checkpoints", ignored)) {
    const fs::path& path = entry.path();
    const bool best = path.filename().string().starts_with(learner::kBestCheckpoint);
    if (best && path.extension() == ".tmp") unfinished.push_back(path);
  }
  for (const fs::path& path : unfinished) fs::remove(path, ignored);
}

EvalResults::EvalResults(const fs::path& run_dir)
    : run_dir_(run_dir), standing_(ReadEvalStanding(run_dir)), file_(run_dir / kEvalFile) {
  RemoveUnfinishedBest(run_dir);
}

void EvalResults::Add(const EvalLine& line, learner::Checkpoint checkpoint) {
  standing_.last = line;
  unwritten_.push_back(line);
  WriteLines();
  const std::optional<EvalLine> best = unsaved_ ? unsaved_->line : standing_.best;
  if (!best || line.mean_return > best->mean_return) unsaved_ = {line, std::move(checkpoint)};
  SaveBest();
}

void EvalResults::WriteLines() {
  while (!unwritten_.empty() && file_.Write(ToJson(unwritten_.front()))) {
    unwritten_.erase(unwritten_.begin());
  }
  if (!unwritten_.empty()) {
    LogWarn("eval.jsonl: {} line(s) could not be written; tried again with the next",
            unwritten_.size());
  }
}

void EvalResults::SaveBest() {
  if (!unsaved_) return;
  try {
    learner::WriteCheckpoint(run_dir_ / "checkpoints", learner::kBestCheckpoint,
                             unsaved_->checkpoint);
    standing_.best = unsaved_->line;
    unsaved_.reset();
  } catch (const std::system_error& error) {
    LogWarn("the best weights could not be saved: {}; tried again after the next evaluation",
            error.what());
  }
}

std::optional<FinalEval> ParseEvalOutput(std::string_view line, const std::string& checkpoint) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    const FinalEval eval{.checkpoint = checkpoint,
                         .played = {.episodes = json.at("episodes").get<std::int64_t>(),
                                    .greedy = json.value("greedy", false)},
                         .mean_return = json.at("mean_return").get<double>(),
                         .std = json.at("std").get<double>()};
    if (!IsPlausible(eval.mean_return) || !IsPlausible(eval.std)) return std::nullopt;
    return eval;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<FinalEval> ReadFinalEval(const std::filesystem::path& run_dir) {
  try {
    const std::string text = ReadRegularFile(run_dir / kFinalEvalFile);
    const auto checkpoint = nlohmann::json::parse(text).at("checkpoint").get<std::string>();
    return ParseEvalOutput(text, checkpoint);
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void WriteFinalEval(const std::filesystem::path& run_dir, const FinalEval& eval) {
  const nlohmann::ordered_json json{{"checkpoint", eval.checkpoint},
                                    {"episodes", eval.played.episodes},
                                    {"greedy", eval.played.greedy},
                                    {"mean_return", eval.mean_return},
                                    {"std", eval.std}};
  WriteFileAtomically(run_dir / kFinalEvalFile, json.dump() + "\n");
}

std::string KeepEval(const std::filesystem::path& run_dir, const std::string& checkpoint,
                     std::span<const std::string> said) {
  for (const std::string& line : said) {
    const std::optional<FinalEval> eval = ParseEvalOutput(line, checkpoint);
    if (!eval) continue;
    try {
      WriteFinalEval(run_dir, *eval);
      return "";
    } catch (const std::system_error& error) {
      return error.what();
    }
  }
  return "it printed no result";
}

}  // namespace starling::results
