#include "core/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

namespace starling {
namespace {

bool Lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace

LockedFile::LockedFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) throw std::system_error(errno, std::generic_category(), path.string());
  held_ = Lock(file_.get());
}

bool IsLocked(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() >= 0 && !Lock(file.get());
}

}  // namespace starling
