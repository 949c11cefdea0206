// `starling report RUN...`: compares runs on one self-contained HTML page.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/report/groups.h"
#include "tools/report/notes.h"

namespace starling::report {

struct ReportOptions {
  std::vector<std::filesystem::path> runs;  // directories (FindRuns) and files (ReadKeptRuns)
  std::filesystem::path out = "report.html";
  bool parts = false;  // each directory, and each part of a file, is a part of the page
  std::vector<std::string> scores{};  // "10", "minatar/freeway=40": show the time to reach them
  std::string title{};                // "": the environments
  std::filesystem::path notes{};      // a text for the page (NotesOf); "": none
  std::filesystem::path data{};       // x.csv or x.json for the numbers; "": nowhere
};

// Returns the exit status. Throws UserError.
int RunReport(const ReportOptions& options);

// The parts of RunReport, for tests.

struct FoundRun {
  std::filesystem::path dir;
  bool begun = true;                  // false: planned by a sweep
  std::string error{};                // last error line of a failed run of a sweep
  bool running = false;               // in a sweep that is running
  std::vector<std::string> varied{};  // keys that its sweep varies
};

// Each of `given` is the directory of a run or of a sweep, or contains runs at most two levels
// below. Returns each run once: those of a sweep in the order of its grid, others by name. Throws
// UserError that names every directory without runs.
std::vector<FoundRun> FindRuns(const std::vector<std::filesystem::path>& given);

// Returns one HTML page that needs no other file. Equal runs give equal bytes. REQUIRES: at least
// one run.
std::string MakePage(const std::vector<Part>& parts, const std::string& title, const Notes& notes,
                     const Targets& targets);

// Returns a row of numbers per run, described in docs/sweeps-and-reports.md. All rows have the same
// keys in the same order; unknown values are null.
std::vector<nlohmann::ordered_json> DataRows(const std::vector<Part>& parts,
                                             const Targets& targets);
// Returns a header line and a line per row (RFC 4180), with some points of each curve. A list
// becomes numbers separated by spaces, null an empty field.
std::string ToCsv(const std::vector<nlohmann::ordered_json>& rows);
// Returns a list of objects, one per line. "curve" has lists: steps, seconds, return and
// episodes.
std::string ToJsonText(const std::vector<nlohmann::ordered_json>& rows);

}  // namespace starling::report
