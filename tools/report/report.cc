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
#include "core/text.h"
#include "results/run_dir.h"
#include "tools/report/kept_runs.h"

namespace starling::report {
namespace {

namespace fs = std::filesystem;

// Loads a run, and adds the knowledge of its sweep.
results::LoadedRun Load(const FoundRun& found) {
  results::LoadedRun run =
      found.begun ? results::LoadRun(found.dir) : results::LoadedRun{.dir = found.dir};
  run.varied = found.varied;
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

void CheckPlace(const char* option, const fs::path& path) {
  if (results::IsFileOfARun(path)) {
    throw UserError(
        fmt::format("{} {} is a file of a run; choose another name", option, path.string()));
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
  for (const fs::path& given : options.runs) {
    if (!IsKeptRuns(given)) continue;
    check("--out", options.out, "RUN", given);
    check("--notes", options.notes, "RUN", given);
  }
  check("--out", options.out, "--data", options.data);
}

std::string ReadNotes(const fs::path& file) {
  if (file.empty()) return "";
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  std::string notes;
  try {
    notes = ReadRegularFile(file, kMaxBytes);
  } catch (const std::system_error& error) {
    throw UserError(
        fmt::format("--notes {} cannot be read: {}", file.string(), error.code().message()));
  }
  if (notes.find('\0') != std::string::npos || !IsUtf8(notes)) {
    throw UserError(fmt::format("--notes {} is no UTF-8 text", file.string()));
  }
  return notes;
}

// "bound-by-actors" of "sweeps/study/bound-by-actors/".
std::string PartName(const fs::path& dir) {
  std::error_code ignored;
  const fs::path name = fs::weakly_canonical(dir, ignored).filename();
  return (name.empty() ? dir : name).string();
}

void Append(std::vector<results::LoadedRun>& runs, std::vector<results::LoadedRun> more) {
  std::ranges::move(more, std::back_inserter(runs));
}

std::vector<results::LoadedRun> RunsIn(const std::vector<fs::path>& dirs) {
  std::vector<results::LoadedRun> runs;
  for (const FoundRun& found : FindRuns(dirs)) runs.push_back(Load(found));
  return runs;
}

// All runs as one part: those of files, then those of directories.
Part LoadTogether(const std::vector<fs::path>& given) {
  Part all;
  std::vector<fs::path> dirs;
  for (const fs::path& path : given) {
    if (!IsKeptRuns(path)) {
      dirs.push_back(path);
      continue;
    }
    for (Part& part : ReadKeptRuns(path)) Append(all.runs, std::move(part.runs));
  }
  Append(all.runs, RunsIn(dirs));
  return all;
}

// Parts of one name are one part: a directory's runs join those that a file has of it. But a second
// directory of that name is a part of its own.
std::vector<Part> LoadApart(const std::vector<fs::path>& given) {
  std::vector<Part> parts;
  std::vector<bool> has_dir;  // of each part
  for (const fs::path& path : given) {
    const bool is_dir = !IsKeptRuns(path);
    std::vector<Part> here;
    if (is_dir) here.push_back({PartName(path), RunsIn({path})});
    if (!is_dir) here = ReadKeptRuns(path);
    for (Part& part : here) {
      if (part.name.empty()) part.name = path.stem().string();
      std::size_t at = 0;
      while (at < parts.size() && (parts[at].name != part.name || (is_dir && has_dir[at]))) ++at;
      if (at == parts.size()) {
        parts.push_back({.name = part.name, .runs = {}});
        has_dir.push_back(false);
      }
      Append(parts[at].runs, std::move(part.runs));
      has_dir[at] = has_dir[at] || is_dir;
    }
  }
  return parts;
}

std::vector<Part> LoadParts(const ReportOptions& options) {
  std::vector<Part> parts =
      options.parts ? LoadApart(options.runs) : std::vector{LoadTogether(options.runs)};
  for (Part& part : parts) {
    RemoveOvertaken(part.runs);
    MarkRepeated(part.runs);
  }
  return parts;
}

// None if the page has no parts.
std::vector<std::string> NamesOf(const std::vector<Part>& parts, const ReportOptions& options) {
  std::vector<std::string> names;
  if (options.parts) std::ranges::transform(parts, std::back_inserter(names), &Part::name);
  return names;
}

// Prints the problems of damaged runs, whose numbers the page lacks. Returns the exit status.
int NameDamaged(const std::vector<Part>& parts) {
  int status = kExitDone;
  for (const Part& part : parts) {
    for (const results::LoadedRun& run : part.runs) {
      if (run.state != results::RunState::kDamaged) continue;
      status = kExitFailed;
      std::fprintf(stderr, "starling: %s: %s\n", run.dir.c_str(),
                   fmt::format("{}", fmt::join(run.problems, "; ")).c_str());
    }
  }
  return status;
}

}  // namespace

int RunReport(const ReportOptions& options) {
  // 1. Check the options before any run is read.
  const std::string extension = options.data.extension();
  if (!options.data.empty() && extension != ".csv" && extension != ".json") {
    throw UserError(
        fmt::format("--data {}: write x.csv or x.json: the name tells how", options.data.string()));
  }
  CheckPlace("--out", options.out);
  if (!options.data.empty()) CheckPlace("--data", options.data);
  CheckFilesDiffer(options);
  Targets targets;
  for (const std::string& word : options.scores) targets.Add(word);
  const std::string text = ReadNotes(options.notes);
  // 2. Load the runs and write the page.
  const std::vector<Part> parts = LoadParts(options);
  const Notes notes = NotesOf(text, NamesOf(parts, options));
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
  if (!options.data.empty()) {
    const auto rows = DataRows(parts, targets);
    WriteOrThrow(options.data, extension == ".json" ? ToJsonText(rows) : ToCsv(rows), "--data");
    std::printf("%s: a row for each run\n", options.data.c_str());
  }
  return NameDamaged(parts);
}

}  // namespace starling::report
