#include "bench/figure.h"

#include <fmt/format.h>

namespace starling::bench {

std::string Line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string Head(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return Line(cells) + rule + "\n";
}

std::string ToMarkdown(const std::vector<NamedResult>& results, const std::string& hardware,
                       const std::string& command) {
  std::string text = fmt::format("Measured by `{}` on {}.\n\n", command, hardware) +
                     Head({"figure", "measured", "wanted", "holds"});
  for (const auto& [name, result] : results) {
    for (const auto& [what, measured, wanted, holds] : result.rows) {
      text += Line({what, measured, wanted, !holds ? "" : *holds ? "yes" : "**no**"});
    }
  }
  for (const auto& [name, result] : results) {
    if (!result.details.empty()) text += "\n" + result.details;
  }
  return text;
}

std::string ToJson(const std::vector<NamedResult>& results, const std::string& hardware,
                   const std::string& command, bool quick) {
  std::vector<std::string> figures;
  for (const auto& [name, result] : results) {
    if (result.json.is_null()) continue;  // the figure failed
    figures.push_back(fmt::format("\n    {}: {}", Json(name).dump(), result.json.dump()));
  }
  return fmt::format(
      "{{\n  \"hardware\": {},\n  \"command\": {},\n  \"quick\": {},\n"
      "  \"figures\": {{{}\n  }}\n}}\n",
      Json(hardware).dump(), Json(command).dump(), quick, fmt::join(figures, ","));
}

}  // namespace starling::bench
