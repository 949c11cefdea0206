// The numbers behind a page, a row for each run, for other programs and for later:
// docs/sweeps-and-reports.md tells what the columns are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/report/groups.h"
#include "tools/report/to_score.h"

namespace starling::report {

// Every row has the same keys in the same order; what is not known is null.
std::vector<nlohmann::ordered_json> DataRows(const std::vector<Part>& parts,
                                             const Targets& targets);

// A head and a line for each row (RFC 4180); lists are numbers with spaces between them, null is
// nothing. Without the curves.
std::string ToCsv(const std::vector<nlohmann::ordered_json>& rows);

// A list of objects, one a line. With "curve": lists of steps, seconds and return.
std::string ToJsonText(const std::vector<nlohmann::ordered_json>& rows);

}  // namespace starling::report
