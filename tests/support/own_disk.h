// A full disk: a file system of its own that can be filled.
#pragma once

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace starling {

// A disk of a few MiB at a directory, for this process and its children. It needs root, or user
// namespaces and a process of one thread. Without them trouble() returns the system's error.
class OwnDisk {
 public:
  explicit OwnDisk(std::filesystem::path at, int mib = 64) : at_(std::move(at)) {
    if (!Mount(mib)) trouble_ = std::strerror(errno);
  }
  ~OwnDisk() { umount2(at_.c_str(), MNT_DETACH); }
  OwnDisk(const OwnDisk&) = delete;
  OwnDisk& operator=(const OwnDisk&) = delete;

  const std::string& trouble() const { return trouble_; }
  // With a file, or with more of it.
  static void Fill(const std::filesystem::path& file) {
    std::ofstream out(file, std::ios::app);
    const std::string zeros(4096, '\0');
    while (out.write(zeros.data(), static_cast<std::streamsize>(zeros.size())).flush()) continue;
  }

 private:
  bool Mount(int mib) const {
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(CLONE_NEWNS | (user != 0 ? CLONE_NEWUSER : 0)) != 0) return false;
    if (user != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << fmt::format("{0} {0} 1", user);
      std::ofstream("/proc/self/gid_map") << fmt::format("{0} {0} 1", group);
    }
    return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", at_.c_str(), "tmpfs", 0, fmt::format("size={}m", mib).c_str()) == 0;
  }

  const std::filesystem::path at_;
  std::string trouble_;
};

}  // namespace starling
