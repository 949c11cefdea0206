// Whole files: reading, and writing that leaves a complete file or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace starling {

// Limit of a file that is read as a whole: years of metrics.jsonl.
inline constexpr std::uint64_t kMaxReadBytes = 1 << 30;

// Writes `parts` one after the other to a temporary file beside `path`, fsyncs it, renames it over
// `path` and fsyncs the directory: after a crash at any moment `path` is the old file or the whole
// new one. The file has `mode` from its creation on. On failure removes the temporary file and
// throws std::system_error naming the path.
void WriteFileAtomically(const std::filesystem::path& path, std::span<const std::string_view> parts,
                         unsigned mode = 0644);
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                         unsigned mode = 0644);

// Waits until the disk holds the names in `directory`. Throws std::system_error naming it.
void SyncDirectory(const std::filesystem::path& directory);

// Returns the whole content. Throws std::system_error naming the path: EFBIG if there are more than
// `limit` bytes, before it holds more than twice as many.
std::string ReadFile(const std::filesystem::path& path,
                     std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());
// The same, but refuses pipes and devices, whose content may never end.
std::string ReadRegularFile(const std::filesystem::path& path, std::uint64_t limit = kMaxReadBytes);

}  // namespace starling
