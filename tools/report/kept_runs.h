// Runs from a file that `starling report --data` wrote: a published comparison goes on without the
// directories of its runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/report/groups.h"

namespace starling::report {

// Whether `path` is meant as such a file, rather than as a directory: x.csv or x.json.
bool IsKeptRuns(const std::filesystem::path& path);

// Returns the runs by part, both in the order of the rows. What the file does not say of a run,
// such as its evaluations before the last or its shares of time, is not in it; its curve is as
// coarse as the file's. A key without a column has its default. Throws UserError that names the
// file and the row.
std::vector<Part> ReadKeptRuns(const std::filesystem::path& file);

// The same from the text of `file`: ToCsv's, or with the name x.json ToJsonText's.
std::vector<Part> ParseKeptRuns(const std::filesystem::path& file, const std::string& text);

}  // namespace starling::report
