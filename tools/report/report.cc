#include "tools/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/locked_file.h"
#include "core/text.h"
#include "results/run_dir.h"
#include "tools/report/kept_runs.h"

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

// Parts of one name are one part: a directory goes on with what a file has of it. Two directories
// are always two parts.
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

// Removes runs that did not finish if one of the same name did: a file may have kept them before.
void RemoveOvertaken(std::vector<results::LoadedRun>& runs) {
  std::set<fs::path> finished;
  for (const results::LoadedRun& run : runs) {
    if (run.finished()) finished.insert(run.dir);
  }
  std::erase_if(runs, [&](const results::LoadedRun& run) {
    return !run.finished() && finished.contains(run.dir);
  });
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
