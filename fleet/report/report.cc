#include "fleet/report/report.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "fleet/report/find_runs.h"
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
  if (!found.error.empty() && !run.finished()) {
    if (run.state == RunState::kUnfinished) run.state = RunState::kFailed;
    const bool known = std::ranges::count(run.troubles, found.error) > 0;
    if (!known) run.troubles.insert(run.troubles.begin(), found.error);
  }
  return run;
}

}  // namespace

int RunReport(const ReportOptions& options) {
  std::vector<LoadedRun> runs;
  for (const FoundRun& found : FindRuns(options.runs)) runs.push_back(Load(found));
  const std::string page = MakePage(runs);
  try {
    WriteFileAtomically(options.out, page);
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
