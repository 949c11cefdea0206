#include "tools/watch/health.h"

#include <fmt/format.h>

#include <system_error>
#include <vector>

#include "core/error.h"
#include "monitor/http/pages.h"
#include "tools/report/report.h"
#include "tools/watch/run_pages.h"

namespace starling::watch {
namespace {

namespace fs = std::filesystem;

bool WellOrDone(const monitor::Health& health) { return health.well || health.done; }

std::vector<report::FoundRun> RunsIn(const fs::path& dir) {
  try {
    return report::FindRuns({dir});
  } catch (const UserError&) {  // none is there
    return {};
  }
}

}  // namespace

HealthAnswer HealthIn(const fs::path& target, const Clock& clock) {
  std::error_code none;
  if (!fs::is_directory(target, none)) {
    return {.text = fmt::format("over: there is no directory {}\n", target.string())};
  }
  if (IsRun(target)) {
    const monitor::Health health = RunPages(target, clock).Health();
    return {.well = WellOrDone(health), .text = health.sentence + "\n"};
  }
  HealthAnswer answer{.well = true};
  for (const report::FoundRun& found : RunsIn(target)) {
    RunPages run(found.dir, clock);
    const monitor::Health health = run.Health();
    if (health.over) continue;
    answer.well &= WellOrDone(health);
    answer.text +=
        fmt::format("{}: {}\n", found.dir.lexically_relative(target).string(), health.sentence);
  }
  if (answer.text.empty()) answer.text = "ok: no run is at work here\n";
  return answer;
}

}  // namespace starling::watch
