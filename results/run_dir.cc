#include "results/run_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"

namespace starling::results {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Unusable(const fs::path& dir, const std::string& reason) {
  throw UserError(fmt::format("run directory {} cannot be written: {}; choose another --run-dir",
                              dir.string(), reason));
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

void TestWritable(const fs::path& dir) {
  const fs::path probe = dir / kProbe;
  try {
    WriteFileAtomically(probe, "");
  } catch (const std::system_error& error) {
    Unusable(dir, error.code().message());
  }
  fs::remove(probe);
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
  // 1. "runs/a/" becomes "runs/a", so that a number can follow the name.
  const fs::path plain = wanted.has_filename() ? wanted : wanted.parent_path();
  // The configuration holds the name, and is UTF-8; logs and commands hold it on one line.
  if (!IsUtf8(plain.string())) Unusable(plain, "its name is no UTF-8 text");
  if (!IsOneLine(plain.string())) Unusable(Escaped(plain.string()), "it has control characters");
  CreateParents(plain);

  // 2. Create it under the first free name, or take over an empty one.
  fs::path dir = plain;
  if (may_number) {
    constexpr int kMaxNumber = 100'000;
    int number = 1;
    while (number < kMaxNumber && !TryCreate(dir = Numbered(plain, number))) ++number;
    if (number == kMaxNumber) Unusable(plain, "every numbered name is taken");
  } else if (!TryCreate(dir)) {
    std::error_code error;
    if (!fs::is_directory(dir, error)) Unusable(dir, "it is not a directory");
    const bool empty = fs::is_empty(dir, error);
    if (error) Unusable(dir, error.message());
    if (!empty && !IsUnused(dir)) {
      throw UserError(fmt::format(
          "run directory {} is not empty; {}choose another --run-dir", dir.string(),
          IsSimulated(dir) ? ""
                           : fmt::format("go on with it by: starling train --resume {}, or ",
                                         ShellQuoted(dir.string()))));
    }
  }
  TestWritable(dir);
  return dir;
}

bool IsUnused(const fs::path& run_dir) {
  std::error_code ignored;
  fs::directory_iterator entry(run_dir, ignored);
  if (ignored) return !fs::exists(run_dir, ignored);
  return std::all_of(begin(entry), end(entry), IsProbe);
}

bool IsFileOfARun(const fs::path& path) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "checkpoints", "config.toml",  "endpoint",   "eval.jsonl",    "final_eval.json",
      "journal",     "lock",         "log",        "metrics.jsonl", kSimulatedMark,
      "sweep.json",  "summary.json", "tensorboard"};
  std::error_code ignored;
  fs::path place = fs::weakly_canonical(fs::absolute(path), ignored);
  for (; place.has_relative_path(); place = place.parent_path()) {
    if (std::ranges::count(kNames, place.filename().string()) == 0) continue;
    for (const char* sign : {"config.toml", "log", "metrics.jsonl", "summary.json", "sweep.json"}) {
      if (fs::is_regular_file(place.parent_path() / sign, ignored)) return true;
    }
  }
  return false;
}

void MarkSimulated(const fs::path& run_dir) {
  WriteFileAtomically(run_dir / kSimulatedMark, "by starling simulate: its times are virtual\n");
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

bool HasCheckpoint(const fs::path& run_dir) {
  return !learner::ListCheckpoints(run_dir / "checkpoints").empty();
}

void CheckResumable(const fs::path& run_dir) {
  std::error_code ignored;
  const auto refuse = [&](const char* what) {
    throw UserError(fmt::format("--resume {}: {}", run_dir.string(), what));
  };
  if (!fs::is_directory(run_dir, ignored)) refuse("there is no such directory");
  if (!fs::exists(run_dir / "config.toml", ignored)) refuse("it has no config.toml: not a run");
  if (!HasCheckpoint(run_dir)) {
    refuse("it has no checkpoint to go on from; start again with: starling train CONFIG");
  }
  TestWritable(run_dir);
}

void WriteConfig(const fs::path& run_dir, const Config& config) {
  Config kept = config;  // a run may be resumed from anywhere
  for (std::string* path : {&kept.wire.secret, &kept.wire.allowed}) {
    if (!path->empty()) *path = fs::absolute(*path).lexically_normal().string();
  }
  const std::string text = ToToml(kept);
  if (!IsUtf8(text)) Unusable(run_dir, "a path in its configuration is no UTF-8 text");
  try {
    WriteFileAtomically(run_dir / "config.toml", text);
  } catch (const std::system_error& error) {
    Unusable(run_dir, error.code().message());
  }
}

}  // namespace starling::results
