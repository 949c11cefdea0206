#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "core/config/config_toml.h"
#include "tools/report/csv.h"
#include "tools/report/kept_runs.h"

namespace starling::report {
namespace {

using Json = nlohmann::ordered_json;

// Columns that are text even if they look like a number, and those that are lists of numbers.
constexpr std::string_view kTexts[] = {"part", "group", "run", "state", "varied", "env", "remarks"};
constexpr std::string_view kLists[] = {"staleness_histogram", "curve_steps", "curve_seconds",
                                       "curve_return"};

// Returns text that is not JSON as a string, which is refused where a number is needed.
Json Parsed(const std::string& text) {
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

Json NumbersIn(const std::string& list) {
  Json numbers = Json::array();
  std::istringstream words(list);
  for (std::string word; words >> word;) numbers.push_back(Parsed(word));
  return numbers;
}

// Returns the value of a key: a TOML value, or a string without quotation marks.
Json KeyIn(const std::string& field) {
  if (field.empty()) return nullptr;
  try {
    const toml::table table = ParseToml("value = " + field);
    const toml::node& node = *table.get("value");
    if (const auto text = node.value_exact<std::string>()) return *text;
    return Parsed(TomlText(node));
  } catch (const toml::parse_error&) {
  }
  return field;
}

Json ValueIn(const std::string& column, const std::string& field) {
  if (std::ranges::count(kTexts, column) > 0) return field;
  if (std::ranges::count(kLists, column) > 0) return NumbersIn(field);
  if (IsKey(column)) return KeyIn(field);
  if (field == "TRUE" || field == "FALSE") return field == "TRUE";  // as spreadsheets write them
  return field.empty() ? Json(nullptr) : Parsed(field);
}

}  // namespace

nlohmann::ordered_json RowsOfCsv(const std::string& text) {
  const std::vector<std::vector<std::string>> lines = ParseCsv(text);
  Json rows = Json::array();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) {
      throw std::runtime_error(fmt::format("row {} has {} fields, the head has {}", i,
                                           lines[i].size(), lines[0].size()));
    }
    Json row = Json::object();
    for (std::size_t c = 0; c < lines[0].size(); ++c) {
      row[lines[0][c]] = ValueIn(lines[0][c], lines[i][c]);
    }
    for (const std::string name : {"steps", "seconds", "return"}) {
      if (const auto list = row.find("curve_" + name); list != row.end()) {
        row["curve"][name] = *list;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace starling::report
