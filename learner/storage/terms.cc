#include "learner/storage/terms.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/file.h"
#include "core/file_descriptor.h"
#include "core/text.h"
#include "learner/storage/checkpoint_format.h"

namespace starling::learner {
namespace {

constexpr std::string_view kSuffix = ".term";
constexpr std::string_view kNew = "new";

std::filesystem::path ClaimPath(const std::filesystem::path& dir, std::uint64_t term) {
  return dir / fmt::format("t{:04}{}", term, kSuffix);
}

std::optional<std::uint64_t> TermOfClaim(std::string_view name) {
  if (!name.starts_with('t') || !name.ends_with(kSuffix)) return std::nullopt;
  return ParseNumber(name.substr(1, name.size() - 1 - kSuffix.size()));
}

struct Claim {
  bool begins = false;
  std::optional<CheckpointId> from;
  bool damaged = false;  // it says something else. None of them: its learner was killed
};

// Returns the claim of `term`, or nullopt if there is none.
std::optional<Claim> ReadClaim(const std::filesystem::path& dir, std::uint32_t term) {
  const std::filesystem::path path = ClaimPath(dir, term);
  if (!std::filesystem::exists(path)) return std::nullopt;
  if (std::filesystem::is_directory(path)) return Claim{.from = {}, .damaged = true};
  std::string text = ReadFile(path);
  if (text.empty()) return Claim{};
  if (text == fmt::format("{}\n", kNew)) return Claim{.begins = true, .from = {}};
  if (text.ends_with('\n')) text.pop_back();
  const auto from = ParseCheckpointName(text, "");
  if (from && from->term < term) return Claim{.from = from};
  return Claim{.from = {}, .damaged = true};
}

std::string Damaged(const std::filesystem::path& dir, std::uint32_t term) {
  return fmt::format(
      "{} is damaged: it names no checkpoint, so nothing says which of term {} count; remove it, "
      "and every checkpoint counts",
      ClaimPath(dir, term).string(), term);
}

std::optional<std::uint64_t> TermOfCheckpoint(std::string_view name) {
  for (const std::string_view suffix : {kCheckpointSuffix, std::string_view()}) {
    if (const auto checkpoint = ParseCheckpointName(name, suffix)) return checkpoint->term;
  }
  return std::nullopt;
}

bool HasCheckpointOf(const std::filesystem::path& dir, std::uint32_t term) {
  const std::filesystem::directory_iterator all(dir);
  return std::any_of(begin(all), end(all), [&](const auto& entry) {
    return TermOfCheckpoint(entry.path().filename().string()) == term;
  });
}

// Returns false if another learner was faster.
bool TryClaim(const std::filesystem::path& path, const std::string& content) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  const bool exists = file.get() < 0 && errno == EEXIST;
  if (exists) return false;
  const bool written = file.get() >= 0 &&
                       ::write(file.get(), content.data(), content.size()) == std::ssize(content) &&
                       ::fsync(file.get()) == 0;
  if (!written) {
    const int error = errno;
    if (file.get() >= 0) ::unlink(path.c_str());
    throw std::system_error(error, std::generic_category(), "cannot write " + path.string());
  }
  SyncDirectory(path.parent_path());
  return true;
}

}  // namespace

std::uint32_t ClaimTerm(const std::filesystem::path& dir, std::optional<CheckpointId> from) {
  CreateDirectories(dir);
  const std::string content = from ? fmt::format("{}\n", CheckpointStem(from->term, from->version))
                                   : fmt::format("{}\n", kNew);
  std::uint32_t term = NewestTerm(dir) + 1;
  while (!TryClaim(ClaimPath(dir, term), content)) ++term;
  return term;
}

std::uint32_t NewestTerm(const std::filesystem::path& dir) {
  std::uint64_t newest = 0;
  if (!std::filesystem::is_directory(dir)) return 0;
  const auto see = [&](std::optional<std::uint64_t> term) {
    if (term && *term < UINT32_MAX) newest = std::max(newest, *term);
  };
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    see(TermOfClaim(name));
    see(TermOfCheckpoint(name));
  }
  // Older programs counted terms in one file.
  if (const auto old = dir / "term"; std::filesystem::is_regular_file(old)) {
    std::string text = ReadFile(old);
    while (text.ends_with('\n')) text.pop_back();
    see(ParseNumber(text));
  }
  return static_cast<std::uint32_t>(newest);
}

RunLine::RunLine(const std::filesystem::path& dir) {
  // 1. The newest claim that was finished. A learner that left one without a word wrote nothing
  // else; if its term has checkpoints, the word was lost later.
  std::uint32_t term = NewestTerm(dir);
  std::optional<Claim> claim;
  for (; term > 0; --term) {
    claim = ReadClaim(dir, term);
    if (!claim || claim->begins || claim->from) break;
    if (claim->damaged || HasCheckpointOf(dir, term)) damaged_ = Damaged(dir, term);
  }
  // 2. Back from claim to claim. Every term counts up to the version at which the next took over.
  std::uint64_t last = UINT64_MAX;
  while (claim && !claim->damaged) {
    last_[term] = last;
    before_ = 0;
    if (!claim->from) return;
    term = claim->from->term;
    last = claim->from->version;
    claim = ReadClaim(dir, term);
    if (claim && claim->damaged) damaged_ = Damaged(dir, term);
  }
  if (term == 0) return;  // none has begun: all count
  // 3. Older programs claimed none.
  last_[term] = last;
  before_ = term;
}

bool RunLine::Holds(CheckpointId checkpoint) const {
  if (checkpoint.term < before_) return true;
  const auto last = last_.find(checkpoint.term);
  return last != last_.end() && checkpoint.version <= last->second;
}

}  // namespace starling::learner
