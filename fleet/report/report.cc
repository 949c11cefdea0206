#include "fleet/report/report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "fleet/report/find_runs.h"
#include "fleet/report/groups.h"
#include "fleet/report/loaded_run.h"
#include "fleet/report/page.h"

namespace starling::fleet {
namespace {

// What a sweep knows of the run, besides what the run's directory tells.
LoadedRun Load(const FoundRun& found) {
  if (!found.begun) {
    LoadedRun run{.dir = found.dir};
    if (!found.error.empty()) {
      run.state = RunState::kFailed;
      run.troubles.push_back(found.error);
    }
    return run;
  }
  LoadedRun run = LoadRun(found.dir);
  if (found.running && !run.finished()) run.state = RunState::kRunning;
  if (found.error.empty()) return run;
  if (run.state == RunState::kUnfinished) run.state = RunState::kFailed;
  const bool known = std::ranges::count(run.troubles, found.error) > 0;
  if (!known) run.troubles.insert(run.troubles.begin(), found.error);
  return run;
}

// A pipe or a device is written to, what a link leads to is replaced.
void Write(const std::filesystem::path& out, const std::string& page) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(out, ignored);
  if (!there) return WriteFileAtomically(out, page);
  if (std::filesystem::is_regular_file(out) || std::filesystem::is_directory(out)) {
    return WriteFileAtomically(std::filesystem::canonical(out), page);
  }
  std::ofstream stream(out, std::ios::binary);
  if (!(stream << page << std::flush)) {
    throw std::system_error(errno, std::generic_category(), out.string());
  }
}

}  // namespace

int RunReport(const ReportOptions& options) {
  std::vector<LoadedRun> runs;
  for (const FoundRun& found : FindRuns(options.runs)) runs.push_back(Load(found));
  MarkRepeated(runs);
  const std::string page = MakePage(runs);
  try {
    Write(options.out, page);
  } catch (const std::system_error& error) {
    throw UserError(options.out.string() + " cannot be written: " + error.code().message() +
                    "; choose another --out");
  }
  const auto finished = std::ranges::count_if(runs, &LoadedRun::finished);
  std::printf("%s: %td of %zu runs finished, %zu bytes\n", options.out.c_str(), finished,
              runs.size(), page.size());
  return kExitDone;
}

}  // namespace starling::fleet
