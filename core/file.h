// Whole files: reading, and writing that leaves a complete file or none.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace starling {

// Limit of a file that is read as a whole: years of metrics.jsonl.
inline constexpr std::uint64_t kMaxReadBytes = 1 << 30;

// How far the writing of a large file is.
//
// Thread safety: one thread writes, any thread reads. The two numbers are no snapshot.
class WriteProgress {
 public:
  struct Now {
    std::uint64_t written = 0, size = 0;  // bytes: on the disk, of the file
  };
  Now now() const { return {written_, size_}; }
  void Begin(std::uint64_t size) {
    written_ = 0;
    size_ = size;
  }
  void Add(std::uint64_t bytes) { written_ += bytes; }

 private:
  std::atomic<std::uint64_t> written_{0}, size_{0};
};

// Writes `parts` one after the other to a temporary file beside `path`, fsyncs it, renames it over
// `path` and fsyncs the directory: after a crash at any moment `path` is the old file or the whole
// new one. The file has `mode` from its creation on. On failure removes the temporary file and
// throws std::system_error naming the path. With `progress` it is synced in pieces, each counted.
void WriteFileAtomically(const std::filesystem::path& path, std::span<const std::string_view> parts,
                         unsigned mode = 0644, WriteProgress* progress = nullptr);
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                         unsigned mode = 0644);

// The same for a file that need not outlast the machine: does not wait for the disk. Readers find
// the old content or the new one.
void ReplaceFile(const std::filesystem::path& path, std::string_view content, unsigned mode = 0644);

// Throws UserError, which begins with `option` and the path, if no file can be made at `path`. For
// the time before the work whose result would be lost.
void CheckWritable(const std::string& option, const std::filesystem::path& path);

// Writes all of `bytes`. Returns false, with errno set, if it cannot.
bool WriteAll(int file, std::string_view bytes);

// Creates `directory` and its missing parents, and waits until the disk holds their names. Throws
// std::system_error naming a path.
void CreateDirectories(const std::filesystem::path& directory);

// Waits until the disk holds the names in `directory`. Throws std::system_error naming it.
void SyncDirectory(const std::filesystem::path& directory);

// Returns the whole content. Throws std::system_error naming the path: EFBIG if there are more than
// `limit` bytes, before it holds more than twice as many.
std::string ReadFile(const std::filesystem::path& path,
                     std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());
// Returns its last bytes, at most `limit`; "" if it cannot be read.
std::string ReadFileEnd(const std::filesystem::path& path, std::uint64_t limit);
// As ReadFile, but refuses pipes and devices, whose content may never end.
std::string ReadRegularFile(const std::filesystem::path& path, std::uint64_t limit = kMaxReadBytes);

}  // namespace starling
