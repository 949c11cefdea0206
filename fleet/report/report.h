// `starling report RUN...`: runs compared, on one self-contained HTML page.
#pragma once

#include <filesystem>
#include <vector>

namespace starling::fleet {

struct ReportOptions {
  std::vector<std::filesystem::path> runs;  // directories of runs or sweeps (find_runs.h)
  std::filesystem::path out = "report.html";
};

// Returns the exit status. Throws UserError.
int RunReport(const ReportOptions& options);

}  // namespace starling::fleet
