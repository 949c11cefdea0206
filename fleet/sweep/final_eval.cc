#include "fleet/sweep/final_eval.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/file.h"

namespace starling::fleet {
namespace {

constexpr char kFile[] = "final_eval.json";

}  // namespace

std::optional<FinalEval> ParseEvalOutput(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    return FinalEval{.checkpoint = "",
                     .episodes = json.at("episodes").get<std::int64_t>(),
                     .mean_return = json.at("mean_return").get<double>(),
                     .std = json.at("std").get<double>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<FinalEval> ReadFinalEval(const std::filesystem::path& run_dir) {
  try {
    const std::string text = ReadFile(run_dir / kFile);
    std::optional<FinalEval> eval = ParseEvalOutput(text);
    if (eval) eval->checkpoint = nlohmann::json::parse(text).at("checkpoint").get<std::string>();
    return eval;
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
  WriteFileAtomically(run_dir / kFile, json.dump() + "\n");
}

}  // namespace starling::fleet
