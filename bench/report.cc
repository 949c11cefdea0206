#include "bench/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace starling::bench {
namespace {

std::string Holds(const Row& row) {
  if (!row.holds) return "";
  return *row.holds ? "yes" : "**no**";
}

}  // namespace

std::string ToMarkdown(const std::vector<NamedResult>& results, const std::string& hardware,
                       const std::string& command) {
  std::string text = fmt::format("Measured by `{}` on {}.\n\n", command, hardware);
  text += "| figure | measured | wanted | holds |\n|---|---|---|---|\n";
  for (const auto& [name, result] : results) {
    for (const Row& row : result.rows) {
      text +=
          fmt::format("| {} | {} | {} | {} |\n", row.what, row.measured, row.wanted, Holds(row));
    }
  }
  for (const auto& [name, result] : results) {
    if (!result.details.empty()) text += "\n" + result.details;
  }
  return text;
}

std::string ToJson(const std::vector<NamedResult>& results, const std::string& hardware,
                   const std::string& command, bool quick) {
  using Json = nlohmann::ordered_json;
  std::string figures;
  for (const auto& [name, result] : results) {
    if (result.json.empty()) continue;  // the figure failed
    figures +=
        fmt::format("{}\n    {}: {}", figures.empty() ? "" : ",", Json(name).dump(), result.json);
  }
  return fmt::format(
      "{{\n  \"hardware\": {},\n  \"command\": {},\n  \"quick\": {},\n"
      "  \"figures\": {{{}\n  }}\n}}\n",
      Json(hardware).dump(), Json(command).dump(), quick, figures);
}

}  // namespace starling::bench
