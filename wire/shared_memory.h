// Memory that processes share: a mapped file, or anonymous memory of one process and its forks.
//
// Thread safety: that of plain memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace starling::wire {

class SharedMemory {
 public:
  // Both create `bytes` > 0 of memory, zeroed, readable and writable. The file must not exist yet.
  // It has mode 0600 and exactly this size, and all its pages exist: a full file system is an error
  // here, where a sparse file would kill the process at the first write. Throws UserError naming
  // the path and the `use` of the memory.
  static std::shared_ptr<SharedMemory> Create(const std::filesystem::path& path, std::size_t bytes,
                                              const std::string& use);
  static std::shared_ptr<SharedMemory> Anonymous(std::size_t bytes, const std::string& use);

  enum class Access { kRead, kWrite };
  // Maps a whole file that exists. Throws std::runtime_error naming it and the defect.
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
