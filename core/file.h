// Whole files: reading, and writing that leaves a complete file or none.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace starling {

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

// Returns the whole content. Throws std::system_error naming the path.
std::string ReadFile(const std::filesystem::path& path);
// The same, but refuses pipes and devices, whose content may never end.
std::string ReadRegularFile(const std::filesystem::path& path);

}  // namespace starling
