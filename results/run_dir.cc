#include "results/run_dir.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "core/file.h"
#include "core/locked_file.h"
#include "core/room.h"
#include "core/text.h"
#include "learner/run_status.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/terms.h"
#include "results/initial_net.h"

namespace starling::results {
namespace {

namespace fs = std::filesystem;

constexpr char kOtherPlace[] = "choose another --run-dir";
constexpr char kMakeRoom[] = "free space there, or check its permissions";  // of a run that exists

std::string WhyUnusable(const fs::path& dir, const std::string& reason, const char* advice) {
  return fmt::format("run directory {} cannot be written: {}; {}", dir.string(), reason, advice);
}

[[noreturn]] void Unusable(const fs::path& dir, const std::string& reason,
                           const char* advice = kOtherPlace) {
  throw UserError(WhyUnusable(dir, reason, advice));
}

// A full disk is a failure and no mistake of the operator: the same start may work later.
[[noreturn]] void Unwritable(const fs::path& dir, const std::error_code& error,
                             const char* advice) {
  const std::string why = WhyUnusable(dir, error.message(), advice);
  if (MayGetRoom(error.value())) throw std::runtime_error(why);
  throw UserError(why);
}

// Returns true if this call created `dir`, false if the name is taken.
bool TryCreate(const fs::path& dir) {
  std::error_code error;
  const bool created = fs::create_directory(dir, error);
  // The library reports a file of that name as an error; here it is a taken name.
  std::error_code ignored;
  if (error && !fs::exists(fs::symlink_status(dir, ignored))) Unusable(dir, error.message());
  return created;
}

constexpr char kProbe[] = ".probe", kSimulatedMark[] = "simulated";

bool IsProbe(const fs::path& path) { return path.filename().string().starts_with(kProbe); }
// A new volume has it, and only its file system may remove it.
bool IsOfTheDisk(const fs::path& path) { return path.filename() == "lost+found"; }
bool IsNoFile(const fs::path& path) { return IsProbe(path) || IsOfTheDisk(path); }

void TestWritable(const fs::path& dir, const char* advice) {
  const fs::path probe = dir / kProbe;
  try {
    WriteFileAtomically(probe, "");
  } catch (const std::system_error& error) {
    Unwritable(dir, error.code(), advice);
  }
  fs::remove(probe);
}

// ---- what a failed start leaves

// What a run may have before its first checkpoint, and what others of its files are called.
constexpr std::array<std::string_view, 10> kOfAStart = {
    "checkpoints", "config.toml", "endpoint",      "eval.jsonl",   "journal",
    "lock",        "log",         "metrics.jsonl", "summary.json", "tensorboard"};
constexpr std::array<std::string_view, 4> kLater = {"final_eval.json", kSimulatedMark, "sweep.json",
                                                    "updates.html"};

// Whether a writer that was killed left it beside one of those files (core/file.h).
bool IsTemporary(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto of = [&](std::string_view file) { return name.starts_with(fmt::format("{}.", file)); };
  return name.ends_with(".tmp") &&
         (std::ranges::any_of(kOfAStart, of) || std::ranges::any_of(kLater, of));
}

bool IsOfAStart(const fs::path& path) {
  return std::ranges::count(kOfAStart, path.filename().string()) > 0 || IsNoFile(path) ||
         IsTemporary(path);
}

bool JournalHasUpdates(const fs::path& journal) {
  try {
    const learner::JournalTail tail = learner::TailOf(journal, {});
    return tail.updates > 0 || tail.damaged;
  } catch (const std::runtime_error&) {
    return false;  // it has not begun
  }
}

// Returns whether a line of metrics.jsonl, the summary or the journal has steps.
bool HasSteps(const fs::path& dir) {
  const auto in = [](const std::string& line) {
    const auto status = learner::ParseStatus(line);
    return status && status->steps > 0;
  };
  std::ifstream metrics(dir / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    if (in(line)) return true;
  }
  const fs::path summary = dir / "summary.json";
  std::error_code ignored;
  if (fs::is_regular_file(summary, ignored) && in(ReadFile(summary))) return true;
  return JournalHasUpdates(dir / "journal");
}

// Also one that does not count, or is not complete, but for a first one that was never finished:
// nothing came before it. A link may lead to a disk that is not mounted.
bool AnyCheckpoint(const fs::path& dir) {
  constexpr std::string_view kFirst = "-v000000000000";
  const fs::path checkpoints = dir / "checkpoints";
  std::error_code error;
  if (fs::is_symlink(checkpoints, error) || HasCheckpoint(dir)) return true;
  fs::directory_iterator entry(checkpoints, error);
  return !error && std::any_of(begin(entry), end(entry), [&](const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.ends_with(".tmp") || name.find(kFirst) != std::string::npos) return false;
    return name.find("safetensors") != std::string::npos || name.find("-v") != std::string::npos;
  });
}

// Returns whether `dir` held nothing else; it is empty then. Whatever kills this program meanwhile
// leaves a failed start: the configuration goes last, and then an empty log.
bool RemoveFailedStart(const fs::path& dir) {
  try {
    if (!IsFailedStart(dir)) return false;
    const LockedFile log(dir / "log");  // another `starling train` may be at its start
    if (!log.held() || !IsFailedStart(dir)) return false;
    for (const fs::path& path : std::vector<fs::path>(fs::directory_iterator(dir), {})) {
      const bool last = path.filename() == "log" || path.filename() == "config.toml";
      if (!last && !IsOfTheDisk(path)) fs::remove_all(path);
    }
    fs::resize_file(dir / "log", 0);
    fs::remove(dir / "config.toml");
    fs::remove(dir / "log");
    return true;
  } catch (const std::system_error&) {
    return false;  // it is not ours to empty
  }
}

void CreateParents(const fs::path& dir) {
  if (!dir.has_parent_path()) return;
  std::error_code error;
  fs::create_directories(dir.parent_path(), error);
  if (error) Unusable(dir, error.message());
}

fs::path Numbered(const fs::path& wanted, int number) {
  fs::path path = wanted;
  if (number > 1) path += fmt::format("-{}", number);
  return path;
}

}  // namespace

fs::path CreateRunDir(const fs::path& wanted, bool may_number) {
  // 1. "runs/a/" becomes "runs/a", so that a number can follow the name; "-a" becomes "./-a",
  // because it is an argument of other programs.
  fs::path plain = wanted.has_filename() ? wanted : wanted.parent_path();
  if (plain.native().starts_with('-')) plain = fs::path(".") / plain;
  // The configuration holds the name, and is UTF-8; logs and commands hold it on one line.
  if (!IsUtf8(plain.string())) Unusable(plain, "its name is no UTF-8 text");
  if (!IsOneLine(plain.string())) Unusable(Escaped(plain.string()), "it has control characters");
  CreateParents(plain);

  // 2. Create it under the first free name, or take over an empty one.
  fs::path dir = plain;
  if (may_number) {
    constexpr int kMaxNumber = 100'000;
    int number = 1;
    while (number < kMaxNumber && !TryCreate(dir = Numbered(plain, number)) &&
           !RemoveFailedStart(dir)) {
      ++number;
    }
    if (number == kMaxNumber) Unusable(plain, "every numbered name is taken");
  } else if (!TryCreate(dir)) {
    std::error_code error;
    if (!fs::is_directory(dir, error)) Unusable(dir, "it is not a directory");
    const bool empty = fs::is_empty(dir, error);
    if (error) Unusable(dir, error.message());
    if (!empty && !IsUnused(dir) && !RemoveFailedStart(dir)) {
      throw UserError(
          fmt::format("run directory {} is not empty; {}choose another --run-dir", dir.string(),
                      IsSimulated(dir) || !HasCheckpoint(dir)
                          ? ""
                          : fmt::format("go on with it by: starling train --resume {}, or ",
                                        ShellQuoted(dir.string()))));
    }
  }
  TestWritable(dir, kOtherPlace);
  try {
    SyncDirectory(fs::absolute(dir).parent_path());
  } catch (const std::system_error&) {
    // It may not be read. Then a power cut in the next seconds may take the run's name.
  }
  return dir;
}

// A configuration alone may be the operator's. A log whose configuration could not be written is
// empty.
bool IsFailedStart(const fs::path& dir) {
  std::error_code error;
  fs::directory_iterator entry(dir, error);
  if (error || !std::all_of(begin(entry), end(entry), IsOfAStart)) return false;
  if (AnyCheckpoint(dir) || HasSteps(dir) || IsLocked(dir / "lock")) return false;
  const auto has = [&](const char* name) { return fs::exists(dir / name, error); };
  std::ifstream config(dir / "config.toml");
  const std::string text{std::istreambuf_iterator<char>(config), {}};
  if (text.empty()) return has("log") && fs::is_empty(dir / "log", error);
  return text.find("[staleness]") != std::string::npos && (has("log") || has("checkpoints"));
}

bool IsUnused(const fs::path& run_dir) {
  std::error_code ignored;
  fs::directory_iterator entry(run_dir, ignored);
  if (ignored) return !fs::exists(run_dir, ignored);
  return std::all_of(begin(entry), end(entry), IsNoFile);
}

bool IsFileOfARun(const fs::path& path) {
  const auto is_one = [](const std::string& name) {
    return std::ranges::count(kOfAStart, name) + std::ranges::count(kLater, name) > 0;
  };
  std::error_code ignored;
  fs::path place = fs::weakly_canonical(fs::absolute(path), ignored);
  for (; place.has_relative_path(); place = place.parent_path()) {
    if (!is_one(place.filename().string())) continue;
    for (const char* sign : {"config.toml", "log", "metrics.jsonl", "summary.json", "sweep.json"}) {
      if (fs::is_regular_file(place.parent_path() / sign, ignored)) return true;
    }
  }
  return false;
}

void RemoveTemporaries(const fs::path& run_dir) {
  std::error_code ignored;
  for (const fs::path& path : std::vector<fs::path>(fs::directory_iterator(run_dir, ignored), {})) {
    if (IsTemporary(path)) fs::remove(path, ignored);
  }
}

void MarkSimulated(const fs::path& run_dir, std::string_view by) {
  WriteFileAtomically(run_dir / kSimulatedMark,
                      fmt::format("by starling {}: its times are virtual\n", by));
}

bool IsSimulated(const fs::path& run_dir) {
  std::error_code ignored;
  return fs::exists(run_dir / kSimulatedMark, ignored);
}

bool IsCheckpointOf(const fs::path& path, std::uint64_t steps) {
  try {
    return learner::ReadCheckpoint(path).steps >= steps;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool HasCheckpoint(const fs::path& run_dir) { return !NewestCheckpoint(run_dir).empty(); }

std::string NewestCheckpoint(const fs::path& run_dir) {
  const auto all = learner::ListCheckpoints(run_dir / "checkpoints");
  return all.empty() ? "" : "checkpoints/" + all.back().filename().string();
}

void CheckResumable(const fs::path& run_dir) {
  std::error_code ignored;
  const auto refuse = [&](const std::string& what) {
    throw UserError(fmt::format("{}: {}", run_dir.string(), what));
  };
  if (!fs::exists(run_dir, ignored)) refuse("there is no such directory");
  if (!fs::is_directory(run_dir, ignored)) refuse("it is no directory");
  if (!fs::exists(run_dir / "config.toml", ignored)) refuse("it has no config.toml: not a run");
  const bool damaged = !learner::RunLine(run_dir / "checkpoints").damaged().empty();
  if (!damaged && !HasCheckpoint(run_dir)) {  // learner::CheckStart names the damage
    const std::string way = WayToACheckpoint(run_dir);
    refuse("it has no checkpoint to go on from" +
           (!way.empty() ? way
            : IsFailedStart(run_dir)
                ? "; start again with: starling train CONFIG --run-dir " +
                      ShellQuoted(run_dir.string())
                : "; to train again choose another --run-dir, or move this one away"));
  }
  TestWritable(run_dir, kMakeRoom);
  for (const char* part : {"checkpoints", "journal"}) {
    if (fs::is_directory(run_dir / part, ignored)) TestWritable(run_dir / part, kMakeRoom);
  }
}

void WriteConfig(const fs::path& run_dir, const Config& config) {
  Config kept = config;  // a run may be resumed from anywhere
  for (std::string* path : {&kept.wire.secret, &kept.wire.allowed, &kept.status.token_file}) {
    if (!path->empty()) *path = fs::absolute(*path).lexically_normal().string();
  }
  const std::string text = ToToml(kept);
  if (!IsUtf8(text)) Unusable(run_dir, "a path in its configuration is no UTF-8 text");
  try {
    WriteFileAtomically(run_dir / "config.toml", text);
  } catch (const std::system_error& error) {
    Unwritable(run_dir, error.code(), kMakeRoom);
  }
}

HeldDir::HeldDir(const fs::path& path)
    : path_(path), dir_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  CHECK(dir_.get() >= 0, "{}", path.string());
}

std::optional<fs::path> HeldDir::Find() const {
  const fs::path held = fmt::format("/proc/self/fd/{}", dir_.get());
  std::error_code error;
  if (fs::equivalent(held, path_, error)) return path_;
  const fs::path now = fs::read_symlink(held, error);  // "... (deleted)" if it is
  if (!error && fs::equivalent(held, now, error)) return now;
  return std::nullopt;
}

}  // namespace starling::results
