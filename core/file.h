// Files that are complete or absent.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace starling {

// Writes `parts` one after the other to a temporary file beside `path`, fsyncs it, renames it over
// `path` and fsyncs the directory: after a crash at any moment `path` is the old file or the whole
// new one. Throws std::system_error naming the path; the temporary file is removed.
// `mode` is that of the file, from its first moment.
void WriteFileAtomically(const std::filesystem::path& path, std::span<const std::string_view> parts,
                         unsigned mode = 0644);
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                         unsigned mode = 0644);

// The whole file. Throws std::system_error naming the path.
std::string ReadFile(const std::filesystem::path& path);
// The same of a regular file only: a pipe or a device may never end.
std::string ReadRegularFile(const std::filesystem::path& path);

}  // namespace starling
