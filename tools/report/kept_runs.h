// Runs from a file that `starling report --data` wrote: a comparison goes on without the
// directories of its runs.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/groups.h"

namespace starling::report {

// Whether a column is a key of the configuration: "staleness.bound".
inline bool IsKey(std::string_view column) { return column.find('.') != column.npos; }

// Whether `path` is meant as such a file, rather than as a directory: x.csv or x.json.
bool IsKeptRuns(const std::filesystem::path& path);

// Returns the parts in the order of their first rows, each with its runs. A file has no evaluations
// before the last, no shares of time, and few points of a curve. A key without a column has its
// default, a key without a value is not there. Throws UserError that names the file and the row.
std::vector<Part> ReadKeptRuns(const std::filesystem::path& file);

// The same from the text of `file`: ToCsv's, or with the name x.json ToJsonText's.
std::vector<Part> ParseKeptRuns(const std::filesystem::path& file, const std::string& text);

// ---- Rows of CSV (kept_rows.cc)

// Returns a list of objects as in ToJsonText's: "curve" is made of the columns that begin with
// "curve_". Throws std::runtime_error.
nlohmann::ordered_json RowsOfCsv(const std::string& text);

}  // namespace starling::report
