#include "tests/support/power_cut.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <utility>

#include "core/file.h"

namespace starling {
namespace {

std::atomic<PowerCut*> watching{nullptr};
thread_local bool looking = false;

std::filesystem::path LinkOf(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

struct stat StatOf(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status;
}

int SyncOr(int fd, long call) {
  PowerCut* const power = watching;
  if (power != nullptr && power->Sync(fd)) return 0;
  return static_cast<int>(::syscall(call, fd));
}

}  // namespace

PowerCut::PowerCut(const std::filesystem::path& root) : root_(std::filesystem::canonical(root)) {
  EXPECT_TRUE(std::filesystem::is_empty(root_));
  FileDescriptor open(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  top_ = StatOf(open.get()).st_ino;
  nodes_[top_] = {.open = std::move(open), .directory = true, .bytes = {}, .synced = {}};
  watching = this;
}

PowerCut::~PowerCut() { watching = nullptr; }

bool PowerCut::Sync(int fd) {
  if (looking) return false;
  const std::string path = std::filesystem::read_symlink(LinkOf(fd)).string();
  if (path != root_ && !path.starts_with(root_.string() + "/")) return false;
  if (look_) {
    looking = true;
    look_();
    looking = false;
  }
  const struct stat status = StatOf(fd);
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[status.st_ino];
  node.directory = S_ISDIR(status.st_mode);
  if (node.open.get() < 0) node.open = FileDescriptor(::dup(fd));
  if (node.directory) {
    node.synced = NamesNow(LinkOf(fd));
  } else {
    node.bytes = ReadFile(LinkOf(fd));
  }
  return true;
}

std::map<std::string, ino_t> PowerCut::NamesNow(const std::filesystem::path& directory) {
  std::map<std::string, ino_t> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    FileDescriptor open(::open(entry.path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (open.get() < 0) continue;  // another thread has removed it
    const struct stat status = StatOf(open.get());
    names[entry.path().filename()] = status.st_ino;
    Node& node = nodes_[status.st_ino];
    node.directory = S_ISDIR(status.st_mode);
    if (node.open.get() < 0) node.open = std::move(open);
  }
  return names;
}

void PowerCut::CopyTo(const std::filesystem::path& to, Names names) {
  const std::lock_guard lock(mutex_);
  std::filesystem::remove_all(to);
  Copy(top_, to, names);
}

void PowerCut::Copy(ino_t number, const std::filesystem::path& to, Names names) {
  const Node& node = nodes_.at(number);
  if (!node.directory) {
    std::ofstream(to, std::ios::binary) << node.bytes;
    return;
  }
  std::filesystem::create_directory(to);
  for (const auto& [name, below] :
       names == Names::kLost ? node.synced : NamesNow(LinkOf(node.open.get()))) {
    Copy(below, to / name, names);
  }
}

}  // namespace starling

// In place of the C library's.
extern "C" int fsync(int fd) { return starling::SyncOr(fd, SYS_fsync); }
extern "C" int fdatasync(int fd) { return starling::SyncOr(fd, SYS_fdatasync); }
