// The directory of checkpoints: listing, the last good one, pruning, and the last term.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/checkpoint_format.h"

namespace starling::learner {
namespace {

constexpr std::string_view kSuffix = ".safetensors";

struct NameParts {
  std::uint64_t term = 0, version = 0;
  friend auto operator<=>(const NameParts&, const NameParts&) = default;
};

// The inverse of CheckpointName, for names that end in `suffix`; nullopt for any other name.
std::optional<NameParts> ParseName(std::string_view name, std::string_view suffix) {
  if (!name.starts_with('t') || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view stem = name.substr(1, name.size() - 1 - suffix.size());
  const std::size_t dash = stem.find("-v");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto term = ParseNumber(stem.substr(0, dash));
  const auto version = ParseNumber(stem.substr(dash + 2));
  if (!term || !version) return std::nullopt;
  return NameParts{*term, *version};
}

// Parses the name of a file, or of the directory of a checkpoint in parts.
std::optional<NameParts> NameOf(const std::filesystem::directory_entry& entry) {
  return ParseName(entry.path().filename().string(), entry.is_directory() ? "" : kSuffix);
}

// Returns whether `entry` holds parts of a checkpoint that will never be complete: a newer one is.
bool IsLeftover(const std::filesystem::directory_entry& entry,
                const std::filesystem::path& newest) {
  const auto parts = ParseName(entry.path().filename().string(), kUncommitted);
  return parts && parts < NameOf(std::filesystem::directory_entry(newest));
}

}  // namespace

std::vector<std::filesystem::path> ListCheckpoints(const std::filesystem::path& dir) {
  std::vector<std::pair<NameParts, std::filesystem::path>> found;
  if (std::filesystem::is_directory(dir)) {
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      const auto parts = NameOf(entry);
      if (parts) found.emplace_back(*parts, entry.path());
    }
  }
  std::ranges::sort(found);
  std::vector<std::filesystem::path> paths;
  for (auto& [parts, path] : found) paths.push_back(std::move(path));
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

std::vector<std::filesystem::path> Prune(const std::filesystem::path& dir, std::size_t keep) {
  CHECK(keep >= 1, "keep {}", keep);
  std::vector<std::filesystem::path> removed;
  const auto remove = [&](const std::filesystem::path& path) {
    std::error_code ignored;  // the next Prune tries again
    std::filesystem::path doomed = path;
    // A directory is removed file by file, so first rename it: it must not look complete any more.
    if (std::filesystem::is_directory(path, ignored) && path.extension() != kUncommitted) {
      doomed += kUncommitted;
      std::filesystem::rename(path, doomed, ignored);
      if (ignored) return;
    }
    if (std::filesystem::remove_all(doomed, ignored) > 0) removed.push_back(path);
  };
  // 1. Temporary files and incomplete parts.
  const std::vector<std::filesystem::path> paths = ListCheckpoints(dir);
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const bool best = entry.path().filename().string().starts_with(kBestCheckpoint);
    const bool temporary = entry.path().extension() == ".tmp" && !best;
    if (temporary || (!paths.empty() && IsLeftover(entry, paths.back()))) {
      leftovers.push_back(entry.path());
    }
  }
  for (const auto& path : leftovers) remove(path);
  // 2. Old checkpoints.
  if (paths.size() <= keep) return removed;
  const std::filesystem::path newest_good = LastGood(dir).path;
  for (std::size_t i = 0; i < paths.size() - keep; ++i) {
    if (paths[i] != newest_good) remove(paths[i]);
  }
  return removed;
}

std::uint32_t OpenTerm(const std::filesystem::path& dir, std::uint32_t at_least) {
  const std::filesystem::path path = dir / "term";
  std::uint64_t last = 0;
  if (std::filesystem::exists(path)) {
    std::string text = ReadFile(path);
    while (text.ends_with('\n')) text.pop_back();
    const std::optional<std::uint64_t> value = ParseNumber(text);
    if (!value || *value >= UINT32_MAX) {
      throw std::runtime_error(
          fmt::format("{} holds \"{}\", not the number of the last term; write a number larger "
                      "than the term in the name of every checkpoint beside it",
                      path.string(), text.substr(0, 40)));
    }
    last = *value;
  }
  // Durable before it is used.
  const std::uint64_t term = std::max<std::uint64_t>({last + 1, at_least, 1});
  std::filesystem::create_directories(dir);
  WriteFileAtomically(path, fmt::format("{}\n", term));
  return static_cast<std::uint32_t>(term);
}

}  // namespace starling::learner
