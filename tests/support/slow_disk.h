// A disk that takes its time: the listing of a run's checkpoints, which follows the writing of
// each, waits, because the claim of term 1 is a pipe.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace starling {

class SlowDisk {
 public:
  // REQUIRES: the run is in term 1.
  explicit SlowDisk(const std::filesystem::path& run_dir)
      : claim_(run_dir / "checkpoints/t0001.term"), kept_(run_dir / "kept.term") {
    std::filesystem::rename(claim_, kept_);
    EXPECT_EQ(::mkfifo(claim_.c_str(), 0600), 0);
  }

  // Ends it. Returns false while nothing waits.
  bool TryEnd() {
    const int fd = ::open(claim_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    std::filesystem::rename(kept_, claim_);
    EXPECT_EQ(::write(fd, "new\n", 4), 4);
    ::close(fd);
    return true;
  }

 private:
  const std::filesystem::path claim_, kept_;
};

}  // namespace starling
