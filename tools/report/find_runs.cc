#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/locked_file.h"
#include "results/run_dir.h"
#include "tools/report/report.h"

namespace starling::report {
namespace {

namespace fs = std::filesystem;

bool IsRun(const fs::path& dir) {
  std::error_code ignored;
  return std::ranges::any_of(
      std::vector{"config.toml", "metrics.jsonl", "summary.json", "log"},
      [&](const char* name) { return fs::is_regular_file(dir / name, ignored); });
}

std::vector<fs::path> FoldersIn(const fs::path& dir) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (fs::directory_iterator entry(dir, ignored), end; entry != end; entry.increment(ignored)) {
    if (std::error_code other; entry->is_directory(other)) folders.push_back(entry->path());
  }
  std::ranges::sort(folders);
  return folders;
}

void Scan(const fs::path& dir, int depth, std::vector<FoundRun>& found) {
  if (IsRun(dir)) {
    found.push_back({dir});
  } else if (depth > 0) {
    for (const fs::path& folder : FoldersIn(dir)) Scan(folder, depth - 1, found);
  }
}

// Returns the runs in sweep.json, or nothing if it cannot be read: the scan finds them.
std::vector<FoundRun> RunsOfSweepJson(const fs::path& dir) {
  std::vector<FoundRun> found;
  const bool at_work = IsLocked(dir / "lock");  // a killed sweep leaves old states
  try {
    const auto sweep = nlohmann::json::parse(ReadRegularFile(dir / "sweep.json"));
    for (const auto& point : sweep.at("points")) {
      std::vector<std::string> varied;
      const auto settings = point.value("settings", nlohmann::json::object());
      for (const auto& [key, value] : settings.items()) varied.push_back(key);
      for (const auto& run : point.at("runs")) {
        const fs::path place = dir / run.at("dir").get<std::string>();
        const auto& error = run.at("error");
        found.push_back(
            {place, IsRun(place), error.is_null() ? "" : error.get<std::string>(),
             at_work && run.value("state", "") == results::NameOf(results::RunState::kRunning),
             varied});
      }
    }
  } catch (const std::system_error&) {
  } catch (const nlohmann::json::exception&) {
  }
  return found;
}

// Returns why no run was found in `dir`, with advice.
std::string Mistake(const fs::path& dir) {
  std::error_code ignored;
  const char* why = !fs::exists(dir, ignored) ? "there is no such directory"
                    : !fs::is_directory(dir, ignored)
                        ? "it is no directory"
                        : "there is no run in it, nor two levels below it";
  return fmt::format("{}: {}; give the directory of a run or of a sweep, or data of a report",
                     dir.string(), why);
}

}  // namespace

std::vector<FoundRun> FindRuns(const std::vector<fs::path>& given) {
  std::vector<FoundRun> found;
  std::set<fs::path> seen;
  std::vector<std::string> mistakes;
  for (const fs::path& dir : given) {
    // 1. Find the runs of a sweep, or else of a folder. A sweep's directory is never itself a run.
    std::vector<FoundRun> here = RunsOfSweepJson(dir);
    if (here.empty()) {
      Scan(dir, 2, here);
    } else {
      for (const fs::path& folder : FoldersIn(dir)) Scan(folder, 1, here);
    }
    if (here.empty()) mistakes.push_back(Mistake(dir));
    // 2. Keep the new ones: two directories may lead to one run.
    for (FoundRun& run : here) {
      std::error_code unresolved;
      const fs::path place = fs::weakly_canonical(run.dir, unresolved);
      const bool is_new = seen.insert(unresolved ? run.dir : place).second;
      if (is_new) found.push_back(std::move(run));
    }
  }
  if (!mistakes.empty()) throw UserError(fmt::format("{}", fmt::join(mistakes, "\n")));
  return found;
}

}  // namespace starling::report
