// A directory of its own for one test, gone with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace starling {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::path(testing::TempDir()) / "starling-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // Writes with plain streams: the tests of core/file.h use it too.
  std::filesystem::path Write(std::string_view name, std::string_view content) const {
    std::filesystem::remove(path_ / name);  // some file systems flush when a file is truncated
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  std::size_t CountFiles() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace starling
