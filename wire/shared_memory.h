// Memory that processes share: a file that is mapped, or anonymous memory of one process and its
// forks.
//
// Thread safety: as memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace starling::wire {

class SharedMemory {
 public:
  // Of `bytes` > 0, zeroed, readable and writable. A file has mode 0600 and exactly this size, and
  // every page of it exists: a full file system is an error here, where a sparse file would kill
  // the process at the first write. It must not exist yet. Throws UserError naming the path and
  // `what` it is for.
  static std::shared_ptr<SharedMemory> Create(const std::filesystem::path& path, std::size_t bytes,
                                              const std::string& what);
  static std::shared_ptr<SharedMemory> Anonymous(std::size_t bytes, const std::string& what);

  enum class Access { kRead, kWrite };
  // All of a file that somebody created. Throws std::runtime_error naming it and what is wrong.
  static std::shared_ptr<SharedMemory> Open(const std::filesystem::path& path, Access access);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }  // bytes

 private:
  SharedMemory(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  static std::shared_ptr<SharedMemory> Map(int fd, std::size_t bytes, Access access);

  std::byte* data_;
  std::size_t size_;
};

}  // namespace starling::wire
