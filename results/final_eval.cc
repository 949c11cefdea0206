#include "results/final_eval.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/file.h"
#include "results/statistics.h"

namespace starling::results {
namespace {

constexpr char kFinalEvalFile[] = "final_eval.json";

}  // namespace

std::optional<FinalEval> ParseEvalOutput(std::string_view line, const std::string& checkpoint) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    const FinalEval eval{.checkpoint = checkpoint,
                         .episodes = json.at("episodes").get<std::int64_t>(),
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
                                    {"episodes", eval.episodes},
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
