// `starling report RUN...`: runs compared, on one self-contained HTML page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace starling::report {

struct ReportOptions {
  std::vector<std::filesystem::path> runs;  // directories of runs or sweeps (find_runs.h)
  std::filesystem::path out = "report.html";
  bool parts = false;  // each of `runs` is a part of the page, with groups of its own
  std::vector<std::string> scores{};  // "10", "minatar/freeway=40": times to them are told
  std::string title{};                // "": the environments
  std::filesystem::path notes{};      // a text at the top (notes.h); "": none
  std::filesystem::path data{};       // x.csv or x.json: the numbers too; "": nowhere
};

// Returns the exit status. Throws UserError.
int RunReport(const ReportOptions& options);

}  // namespace starling::report
