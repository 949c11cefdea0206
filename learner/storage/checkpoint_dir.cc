// The directory of checkpoints: listing, the last good one, pruning.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/checkpoint_format.h"

namespace starling::learner {
namespace {

// Parses the name of a file, or of the directory of a checkpoint in parts.
std::optional<CheckpointId> NameOf(const std::filesystem::directory_entry& entry) {
  return ParseCheckpointName(entry.path().filename().string(),
                             entry.is_directory() ? "" : kCheckpointSuffix);
}

// Returns whether `entry` holds parts of a checkpoint that will never be complete: a newer one is.
bool IsLeftover(const std::filesystem::directory_entry& entry,
                const std::filesystem::path& newest) {
  const auto parts = ParseCheckpointName(entry.path().filename().string(), kUncommitted);
  return parts && parts < NameOf(std::filesystem::directory_entry(newest));
}

bool HasGoodStates(const std::filesystem::path& checkpoint) {
  const std::filesystem::path states = ActorStatesPath(checkpoint);
  if (!std::filesystem::exists(states)) return false;
  try {
    ReadActorStates(states);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool IsStates(const std::filesystem::path& path) { return path.extension() == kActorsSuffix; }

}  // namespace

std::string CheckpointStem(std::uint32_t term, std::uint64_t version) {
  return fmt::format("t{:04}-v{:012}", term, version);
}

std::optional<CheckpointId> ParseCheckpointName(std::string_view name, std::string_view suffix) {
  if (!name.starts_with('t') || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view stem = name.substr(1, name.size() - 1 - suffix.size());
  const std::size_t dash = stem.find("-v");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto term = ParseNumber(stem.substr(0, dash));
  const auto version = ParseNumber(stem.substr(dash + 2));
  if (!term || !version || *term > UINT32_MAX) return std::nullopt;
  return CheckpointId{static_cast<std::uint32_t>(*term), *version};
}

std::vector<std::filesystem::path> ListCheckpoints(const std::filesystem::path& dir) {
  if (!std::filesystem::is_directory(dir)) return {};
  const RunLine line(dir);
  std::vector<std::pair<CheckpointId, std::filesystem::path>> found;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const auto id = NameOf(entry);
    if (id && line.Holds(*id)) found.emplace_back(*id, entry.path());
  }
  std::ranges::sort(found);
  std::vector<std::filesystem::path> paths;
  for (auto& [id, path] : found) paths.push_back(std::move(path));
  return paths;
}

LastGoodResult LastGood(const std::filesystem::path& dir) {
  LastGoodResult result;
  std::vector<std::filesystem::path> paths = ListCheckpoints(dir);
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    try {
      result.checkpoint = ReadCheckpoint(*path);
      result.path = *path;
      return result;
    } catch (const std::runtime_error& error) {  // also std::system_error
      result.rejected.emplace_back(error.what());
    }
  }
  return result;
}

LastGoodResult NewestCut(const std::filesystem::path& dir) {
  LastGoodResult result;
  std::vector<std::filesystem::path> paths = ListCheckpoints(dir);
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const std::filesystem::path states = ActorStatesPath(*path);
    if (!std::filesystem::exists(states)) continue;
    try {
      Checkpoint checkpoint = ReadCheckpoint(*path);
      checkpoint.actors = ReadActorStates(states);
      result.checkpoint = std::move(checkpoint);
      result.path = *path;
      return result;
    } catch (const std::runtime_error& error) {
      result.rejected.emplace_back(error.what());
    }
  }
  return result;
}

std::vector<std::filesystem::path> Prune(const std::filesystem::path& dir, std::size_t keep,
                                         bool dry_run) {
  CHECK(keep >= 1, "keep {}", keep);
  std::vector<std::filesystem::path> removed;
  const auto remove = [&](const std::filesystem::path& path) {
    if (dry_run) return removed.push_back(path);
    std::error_code ignored;  // the next Prune tries again
    std::filesystem::path doomed = path;
    // A directory is removed file by file, so first rename it: it must not look complete any more.
    if (std::filesystem::is_directory(path, ignored) && path.extension() != kUncommitted) {
      doomed += kUncommitted;
      std::filesystem::rename(path, doomed, ignored);
      if (ignored) return;
    }
    if (std::filesystem::remove_all(doomed, ignored) > 0) removed.push_back(path);
    std::filesystem::remove(ActorStatesPath(path), ignored);
  };
  // 1. Temporary files, incomplete parts, and what a learner wrote after its term. States whose
  //    checkpoint was never written, too.
  const std::vector<std::filesystem::path> paths = ListCheckpoints(dir);
  const RunLine line(dir);
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const bool best = entry.path().filename().string().starts_with(kBestCheckpoint);
    const bool temporary = entry.path().extension() == ".tmp" && !best;
    const auto id = NameOf(entry);
    const bool alone = IsStates(entry.path()) && std::ranges::none_of(paths, [&](const auto& path) {
                         return ActorStatesPath(path) == entry.path();
                       });
    if (temporary || alone || (id && !line.Holds(*id)) ||
        (!paths.empty() && IsLeftover(entry, paths.back()))) {
      leftovers.push_back(entry.path());
    }
  }
  for (const auto& path : leftovers) remove(path);
  // 2. Old checkpoints.
  if (paths.size() <= keep) return removed;
  const std::filesystem::path newest_good = LastGood(dir).path;
  const auto cut = std::ranges::find_if(paths.rbegin(), paths.rend(), HasGoodStates);
  for (std::size_t i = 0; i < paths.size() - keep; ++i) {
    if (paths[i] != newest_good && (cut == paths.rend() || paths[i] != *cut)) remove(paths[i]);
  }
  return removed;
}

}  // namespace starling::learner
