#include "wire/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "core/check.h"
#include "core/error.h"
#include "core/file_descriptor.h"

namespace starling::wire {
namespace {

[[noreturn]] void ThrowCreate(const std::filesystem::path& path, std::size_t bytes,
                              const std::string& use, int error) {
  throw UserError(
      fmt::format("{}: cannot reserve {} KiB of shared memory for {}: {}; free space there or set "
                  "wire.runtime_dir",
                  path.string(), (bytes + 1023) / 1024, use, ErrorText(error)));
}

}  // namespace

// Returns nullptr, with errno set, if it cannot be mapped. Populates the pages now, so that the
// first copies cause no page faults.
std::shared_ptr<SharedMemory> SharedMemory::Map(int fd, std::size_t bytes, Access access) {
  const int flags = MAP_SHARED | MAP_POPULATE | (fd < 0 ? MAP_ANONYMOUS : 0);
  const int protection = PROT_READ | (access == Access::kWrite ? PROT_WRITE : 0);
  void* data = mmap(nullptr, bytes, protection, flags, fd, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::shared_ptr<SharedMemory>(new SharedMemory(static_cast<std::byte*>(data), bytes));
}

SharedMemory::~SharedMemory() { munmap(data_, size_); }

std::shared_ptr<SharedMemory> SharedMemory::Create(const std::filesystem::path& path,
                                                   std::size_t bytes, const std::string& use) {
  CHECK(bytes > 0);
  const FileDescriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) ThrowCreate(path, bytes, use, errno);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  std::shared_ptr<SharedMemory> memory;
  if (error == 0) {
    memory = Map(file.get(), bytes, Access::kWrite);
    if (!memory) error = errno;
  }
  if (!memory) {
    unlink(path.c_str());
    ThrowCreate(path, bytes, use, error);
  }
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::Anonymous(std::size_t bytes, const std::string& use) {
  CHECK(bytes > 0);
  std::shared_ptr<SharedMemory> memory = Map(-1, bytes, Access::kWrite);
  if (!memory) ThrowCreate("anonymous memory", bytes, use, errno);
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::Open(const std::filesystem::path& path, Access access) {
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(fmt::format("{}: {}", path.string(), what));
  };
  const int mode = access == Access::kWrite ? O_RDWR : O_RDONLY;
  const FileDescriptor file(open(path.c_str(), mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) fail(ErrorText(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail(ErrorText(errno));
  if (!S_ISREG(status.st_mode)) fail("not a file");
  if (status.st_size == 0) fail("0 bytes are too few");
  std::shared_ptr<SharedMemory> memory =
      Map(file.get(), static_cast<std::size_t>(status.st_size), access);
  if (!memory) fail(ErrorText(errno));
  return memory;
}

}  // namespace starling::wire
