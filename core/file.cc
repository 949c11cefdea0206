#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace starling {

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

[[noreturn]] void Fail(int error, const char* what, const std::filesystem::path& path) {
  throw std::system_error(error, std::generic_category(),
                          fmt::format("cannot {} {}", what, path.string()));
}

// Removes the temporary file unless it was renamed.
struct Unlinker {
  const std::filesystem::path& path;
  bool armed = true;
  ~Unlinker() {
    if (armed) ::unlink(path.c_str());
  }
};

std::filesystem::path TemporaryBeside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
  return temporary;
}

// Writes `parts` in pieces and syncs each piece. Only synced bytes count as progress: the kernel
// takes gigabytes at once, and the disk may need minutes for them.
bool WriteInPieces(int fd, std::span<const std::string_view> parts, WriteProgress& progress) {
  constexpr std::size_t kPiece = 8 << 20;
  std::size_t unsynced = 0;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const std::string_view piece = part.substr(0, kPiece - unsynced);
      if (!WriteAll(fd, piece)) return false;
      part.remove_prefix(piece.size());
      unsynced += piece.size();
      if (unsynced < kPiece) continue;
      if (::fdatasync(fd) != 0) return false;
      progress.Add(std::exchange(unsynced, 0));
    }
  }
  return true;
}

std::filesystem::path DirectoryOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::uint64_t SizeOf(std::span<const std::string_view> parts) {
  return std::accumulate(
      parts.begin(), parts.end(), std::uint64_t{0},
      [](std::uint64_t sum, std::string_view part) { return sum + part.size(); });
}

}  // namespace

void CheckWritable(const std::string& option, const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const std::string given = fmt::format("{} {}", option, path.string());
  const fs::path folder = DirectoryOf(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw UserError(fmt::format("{}: there is no directory {}", given, folder.string()));
  }
  const fs::file_status there = fs::status(path, error);
  if (there.type() == fs::file_type::none) {  // as of a name that is too long
    throw UserError(fmt::format("{} cannot be written: {}", given, error.message()));
  }
  if (fs::is_directory(there)) {
    throw UserError(fmt::format("{} is a directory; name a file in it", given));
  }
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw UserError(fmt::format("{} is a pipe or a device; name a file", given));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw UserError(fmt::format("{} cannot be written: {}", given, ErrorText(errno)));
  }
}

void WriteFileAtomically(const std::filesystem::path& path, std::span<const std::string_view> parts,
                         unsigned mode, WriteProgress* progress) {
  if (progress) progress->Begin(SizeOf(parts));
  const std::filesystem::path temporary = TemporaryBeside(path);
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) Fail(errno, "write", path);
  Unlinker unlinker{temporary};
  // Without room it must not take the last of it from others before it fails.
  struct statvfs disk {};
  if (::fstatvfs(file.get(), &disk) == 0 && disk.f_blocks > 0 &&
      disk.f_bfree < SizeOf(parts) / disk.f_frsize) {
    Fail(ENOSPC, "write", path);
  }
  if (progress) {
    if (!WriteInPieces(file.get(), parts, *progress)) Fail(errno, "write", path);
  } else {
    for (const std::string_view part : parts) {
      if (!WriteAll(file.get(), part)) Fail(errno, "write", path);
    }
  }
  if (::fsync(file.get()) != 0) Fail(errno, "sync", path);
  if (file.Close() != 0) Fail(errno, "write", path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) Fail(errno, "write", path);
  unlinker.armed = false;
  SyncDirectory(DirectoryOf(path));
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                         unsigned mode) {
  WriteFileAtomically(path, std::span(&content, 1), mode);
}

void ReplaceFile(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  const std::filesystem::path temporary = TemporaryBeside(path);
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) Fail(errno, "write", path);
  Unlinker unlinker{temporary};
  if (!WriteAll(file.get(), content)) Fail(errno, "write", path);
  if (file.Close() != 0) Fail(errno, "write", path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) Fail(errno, "write", path);
  unlinker.armed = false;
}

void CreateDirectories(const std::filesystem::path& directory) {
  const std::filesystem::path parent = DirectoryOf(directory);
  if (!std::filesystem::exists(parent)) CreateDirectories(parent);
  std::filesystem::create_directory(directory);
  SyncDirectory(parent);  // also if it exists: its maker may have been killed before
}

void SyncDirectory(const std::filesystem::path& path) {
  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) Fail(errno, "open", path);
  // Not an error: some file systems cannot sync a directory and return EINVAL.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) Fail(errno, "sync", path);
}

std::string ReadFile(const std::filesystem::path& path, std::uint64_t limit) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(errno, "read", path);
  constexpr std::size_t kMinRoom = 64 * 1024;
  // A hint only: pipes have no size and files in /proc report 0.
  std::error_code unknown;
  const std::uintmax_t hint = std::filesystem::file_size(path, unknown);
  if (!unknown && hint > limit) Fail(EFBIG, "read", path);
  std::size_t size = 0;
  std::string content(unknown ? kMinRoom : std::max<std::size_t>(hint + 1, kMinRoom), '\0');
  for (;;) {
    if (size > limit) Fail(EFBIG, "read", path);
    if (size == content.size()) content.resize(2 * size);
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) Fail(errno, "read", path);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  content.resize(size);
  return content;
}

std::string ReadRegularFile(const std::filesystem::path& path, std::uint64_t limit) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) Fail(errno, "read", path);
  if (S_ISDIR(status.st_mode)) Fail(EISDIR, "read", path);
  if (!S_ISREG(status.st_mode)) Fail(EINVAL, "read", path);
  return ReadFile(path, limit);
}

std::string ReadFileEnd(const std::filesystem::path& path, std::uint64_t limit) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(limit)));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace starling
