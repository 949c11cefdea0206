#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/file.h"

namespace starling::report {
namespace {

namespace fs = std::filesystem;

// Loads a run, and adds the knowledge of its sweep.
results::LoadedRun Load(const FoundRun& found) {
  results::LoadedRun run =
      found.begun ? results::LoadRun(found.dir) : results::LoadedRun{.dir = found.dir};
  if (found.begun && found.running && !run.finished()) run.state = results::RunState::kRunning;
  if (found.error.empty()) return run;
  const bool ended = !found.begun || run.state == results::RunState::kUnfinished;
  if (ended) run.state = results::RunState::kFailed;
  const bool known = std::ranges::count(run.problems, found.error) > 0;
  if (!known) run.problems.insert(run.problems.begin(), found.error);
  return run;
}

// Writes to an existing pipe or device, and replaces the target of a link.
void Write(const fs::path& out, const std::string& page) {
  if (std::error_code ignored; !fs::exists(out, ignored)) return WriteFileAtomically(out, page);
  if (fs::is_regular_file(out) || fs::is_directory(out)) {
    return WriteFileAtomically(fs::canonical(out), page);
  }
  std::ofstream stream(out, std::ios::binary);
  if (!(stream << page << std::flush)) {
    throw std::system_error(errno, std::generic_category(), out.string());
  }
}

void WriteOrThrow(const fs::path& out, const std::string& text, const char* option) {
  try {
    Write(out, text);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("{} cannot be written: {}; choose another {}", out.string(),
                                error.code().message(), option));
  }
}

// Refuses options that name the same file: one would replace the other.
void CheckFilesDiffer(const ReportOptions& options) {
  const auto check = [](const char* name, const fs::path& a, const char* other, const fs::path& b) {
    std::error_code ignored;
    if (a.empty() || b.empty() ||
        fs::weakly_canonical(a, ignored) != fs::weakly_canonical(b, ignored)) {
      return;
    }
    throw UserError(fmt::format("{} and {} are both {}: name two files", name, other, a.string()));
  };
  check("--out", options.out, "--notes", options.notes);
  check("--data", options.data, "--notes", options.notes);
  check("--out", options.out, "--data", options.data);
}

std::string ReadNotes(const fs::path& file) {
  if (file.empty()) return "";
  try {
    return ReadRegularFile(file);
  } catch (const std::system_error& error) {
    throw UserError(
        fmt::format("--notes {} cannot be read: {}", file.string(), error.code().message()));
  }
}

Part LoadPart(const std::string& name, const std::vector<fs::path>& dirs) {
  Part part{.name = name, .runs = {}};
  for (const FoundRun& found : FindRuns(dirs)) part.runs.push_back(Load(found));
  MarkRepeated(part.runs);
  return part;
}

std::vector<Part> LoadParts(const ReportOptions& options) {
  if (!options.parts) return {LoadPart("", options.runs)};
  std::vector<Part> parts;
  for (const fs::path& dir : options.runs) {
    // "bound-by-actors" of "sweeps/study/bound-by-actors/".
    std::error_code ignored;
    const fs::path name = fs::weakly_canonical(dir, ignored).filename();
    parts.push_back(LoadPart((name.empty() ? dir : name).string(), {dir}));
  }
  return parts;
}

}  // namespace

int RunReport(const ReportOptions& options) {
  // 1. Check the options before any run is read.
  const std::string extension = options.data.extension();
  if (!options.data.empty() && extension != ".csv" && extension != ".json") {
    throw UserError(
        fmt::format("--data {}: write x.csv or x.json: the name tells how", options.data.string()));
  }
  CheckFilesDiffer(options);
  Targets targets;
  for (const std::string& word : options.scores) targets.Add(word);
  const std::string notes = ReadNotes(options.notes);
  // 2. Load the runs and write the page.
  const std::vector<Part> parts = LoadParts(options);
  targets.Check(EnvsOf(parts));
  const std::string page = MakePage(parts, options.title, notes, targets);
  WriteOrThrow(options.out, page, "--out");
  std::size_t runs = 0;
  std::ptrdiff_t finished = 0;
  for (const Part& part : parts) {
    runs += part.runs.size();
    finished += std::ranges::count_if(part.runs, &results::LoadedRun::finished);
  }
  std::printf("%s: %td of %zu runs finished, %zu bytes\n", options.out.c_str(), finished, runs,
              page.size());
  // 3. Write the numbers.
  if (options.data.empty()) return kExitDone;
  const auto rows = DataRows(parts, targets);
  WriteOrThrow(options.data, extension == ".json" ? ToJsonText(rows) : ToCsv(rows), "--data");
  std::printf("%s: a row for each run\n", options.data.c_str());
  return kExitDone;
}

}  // namespace starling::report
