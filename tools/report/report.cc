#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "results/run_record.h"
#include "tools/report/data.h"
#include "tools/report/find_runs.h"
#include "tools/report/groups.h"
#include "tools/report/page.h"

namespace starling::report {
namespace {

// What a sweep knows of the run, besides what the run's directory tells.
results::LoadedRun Load(const FoundRun& found) {
  if (!found.begun) {
    results::LoadedRun run{.dir = found.dir};
    if (!found.error.empty()) {
      run.state = results::RunState::kFailed;
      run.troubles.push_back(found.error);
    }
    return run;
  }
  results::LoadedRun run = results::LoadRun(found.dir);
  if (found.running && !run.finished()) run.state = results::RunState::kRunning;
  if (found.error.empty()) return run;
  if (run.state == results::RunState::kUnfinished) run.state = results::RunState::kFailed;
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

void WriteOrSay(const std::filesystem::path& out, const std::string& text, const char* option) {
  try {
    Write(out, text);
  } catch (const std::system_error& error) {
    throw UserError(fmt::format("{} cannot be written: {}; choose another {}", out.string(),
                                error.code().message(), option));
  }
}

// A file that one option names is not another's to replace.
void CheckFilesDiffer(const ReportOptions& options) {
  const auto same = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    return !a.empty() && !b.empty() &&
           std::filesystem::weakly_canonical(a, ignored) ==
               std::filesystem::weakly_canonical(b, ignored);
  };
  const auto refuse = [](const char* a, const char* b, const std::filesystem::path& file) {
    throw UserError(fmt::format("{} and {} are both {}: name two files", a, b, file.string()));
  };
  if (same(options.out, options.notes)) refuse("--out", "--notes", options.out);
  if (same(options.data, options.notes)) refuse("--data", "--notes", options.data);
  if (same(options.out, options.data)) refuse("--out", "--data", options.out);
}

std::string NotesOf(const std::filesystem::path& file) {
  if (file.empty()) return "";
  try {
    return ReadRegularFile(file);
  } catch (const std::system_error& error) {
    throw UserError(
        fmt::format("--notes {} cannot be read: {}", file.string(), error.code().message()));
  }
}

// "bound-by-actors" of "sweeps/study/bound-by-actors/".
std::string NameOfPart(const std::filesystem::path& dir) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(dir, ignored);
  return whole.filename().empty() ? dir.string() : whole.filename().string();
}

Part LoadPart(const std::string& name, const std::vector<std::filesystem::path>& dirs) {
  Part part{.name = name, .runs = {}};
  for (const FoundRun& found : FindRuns(dirs)) part.runs.push_back(Load(found));
  MarkRepeated(part.runs);
  return part;
}

std::vector<Part> LoadParts(const ReportOptions& options) {
  if (!options.parts) return {LoadPart("", options.runs)};
  std::vector<Part> parts;
  for (const std::filesystem::path& dir : options.runs) {
    parts.push_back(LoadPart(NameOfPart(dir), {dir}));
  }
  return parts;
}

std::vector<const results::LoadedRun*> AllRuns(const std::vector<Part>& parts) {
  std::vector<const results::LoadedRun*> runs;
  for (const Part& part : parts) {
    for (const results::LoadedRun& run : part.runs) runs.push_back(&run);
  }
  return runs;
}

Targets TargetsOf(const std::vector<std::string>& words) {
  Targets targets;
  for (const std::string& word : words) targets.Add(word);
  return targets;
}

std::string DataText(const ReportOptions& options, const std::vector<Part>& parts,
                     const Targets& targets) {
  const auto rows = DataRows(parts, targets);
  return options.data.extension() == ".json" ? ToJsonText(rows) : ToCsv(rows);
}

}  // namespace

int RunReport(const ReportOptions& options) {
  const std::string extension = options.data.extension();
  if (!options.data.empty() && extension != ".csv" && extension != ".json") {
    throw UserError(
        fmt::format("--data {}: write x.csv or x.json: the name tells how", options.data.string()));
  }
  CheckFilesDiffer(options);
  const Targets targets = TargetsOf(options.scores);
  const std::string notes = NotesOf(options.notes);
  const std::vector<Part> parts = LoadParts(options);
  const std::vector<const results::LoadedRun*> runs = AllRuns(parts);
  targets.Check(runs);
  const std::string page = MakePage(parts, {.title = options.title, .notes = notes}, targets);
  WriteOrSay(options.out, page, "--out");
  const auto finished =
      std::ranges::count_if(runs, [](const auto* run) { return run->finished(); });
  std::printf("%s: %td of %zu runs finished, %zu bytes\n", options.out.c_str(), finished,
              runs.size(), page.size());
  if (options.data.empty()) return kExitDone;
  WriteOrSay(options.data, DataText(options, parts, targets), "--data");
  std::printf("%s: a row for each run\n", options.data.c_str());
  return kExitDone;
}

}  // namespace starling::report
