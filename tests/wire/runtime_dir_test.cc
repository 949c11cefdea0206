#include "wire/runtime_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

void Touch(const fs::path& path) { std::ofstream(path) << "x"; }

class RuntimeRootTest : public testing::Test {
 protected:
  std::string RootError() const {
    return ErrorOf([&] { RuntimeRoot(base()); });
  }
  std::string base() const { return directory_.path().string(); }
  fs::path root() const { return directory_.path() / ("starling-" + std::to_string(geteuid())); }

  TempDir directory_;
};

TEST_F(RuntimeRootTest, IsCreatedForUsAloneWhateverTheUmask) {
  const mode_t before = umask(0777);
  EXPECT_EQ(RuntimeRoot(base()), root());
  umask(before);
  EXPECT_EQ(ModeOf(root()), 0700u);
  EXPECT_EQ(RuntimeRoot(base()), root());  // again
}

TEST_F(RuntimeRootTest, ComesFromTheEnvironmentIfNotConfigured) {
  EXPECT_EQ(StatusInChild([&] {
              setenv("XDG_RUNTIME_DIR", base().c_str(), 1);
              return RuntimeRoot("") == root() ? 0 : 1;
            }),
            0);
}

// /proc looks writable to root and takes no directory.
TEST_F(RuntimeRootTest, AnEnvironmentThatTakesNoDirectoryIsPassedOver) {
  EXPECT_EQ(StatusInChild([] {
              setenv("XDG_RUNTIME_DIR", "/proc", 1);
              return RuntimeRoot("").string().starts_with("/proc") ? 1 : 0;
            }),
            0);
}

TEST_F(RuntimeRootTest, ASymlinkIsRefused) {
  fs::create_directory(directory_.path() / "elsewhere");
  fs::permissions(directory_.path() / "elsewhere", fs::perms::owner_all);
  fs::create_directory_symlink(directory_.path() / "elsewhere", root());
  EXPECT_THAT(RootError(), AllOf(HasSubstr(root().string()), HasSubstr("symbolic link")));
}

TEST_F(RuntimeRootTest, AFileIsRefused) {
  Touch(root());
  EXPECT_THAT(RootError(), HasSubstr("not a directory"));
}

TEST_F(RuntimeRootTest, OneThatOthersMayEnterIsRefused) {
  fs::create_directory(root());
  ASSERT_EQ(chmod(root().c_str(), 0755), 0);
  EXPECT_THAT(RootError(), AllOf(HasSubstr("0755"), HasSubstr("chmod 0700")));
}

TEST_F(RuntimeRootTest, OneOfSomebodyElseIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  RuntimeRoot(base());
  ASSERT_EQ(chown(root().c_str(), 4711, 4711), 0);
  EXPECT_THAT(RootError(), HasSubstr("belongs to user 4711"));
}

TEST_F(RuntimeRootTest, AConfiguredOneMustBeThere) {
  const std::string missing = base() + "/no";
  EXPECT_THAT(ErrorOf([&] { RuntimeRoot(missing); }),
              AllOf(HasSubstr(missing), HasSubstr("wire.runtime_dir")));
  Touch(missing);
  EXPECT_THAT(ErrorOf([&] { RuntimeRoot(missing); }), HasSubstr("not a directory"));
}

class Places : public testing::Test {
 protected:
  RuntimeDir Create() const { return RuntimeDir::Create(root_, run_dir_); }

  TempDir directory_;
  const fs::path root_ = RuntimeRoot(directory_.path().string());
  const fs::path run_dir_ = directory_.path() / "runs" / "breakout";
};

TEST_F(Places, APlaceIsPrivateAndShort) {
  const RuntimeDir place = Create();
  EXPECT_EQ(place.path().parent_path(), root_);
  EXPECT_EQ(place.path().filename().string().size(), 12u);
  EXPECT_EQ(ModeOf(place.path()), 0700u);
  EXPECT_EQ(place.SocketEndpoint("control"), "ipc://" + (place.path() / "control").string());
  EXPECT_NE(place.SnapshotPath(1), place.SnapshotPath(2));
  EXPECT_EQ(place.SnapshotPath(1).parent_path(), place.path());
}

TEST_F(Places, ActorsFindTheEndpoint) {
  EXPECT_EQ(RuntimeDir::Find(root_, run_dir_).endpoint, std::nullopt);
  const RuntimeDir place = Create();
  EXPECT_EQ(RuntimeDir::Find(root_, run_dir_).endpoint, std::nullopt);
  place.WriteEndpoint("tcp://127.0.0.1:5555");
  const RuntimeDir::Found found = RuntimeDir::Find(root_, run_dir_);
  EXPECT_EQ(found.endpoint, "tcp://127.0.0.1:5555");
  EXPECT_EQ(found.endpoint_file, place.path() / "endpoint");
}

TEST_F(Places, TheWeightsOfALearnerAreFound) {
  EXPECT_EQ(RuntimeDir::FindSnapshot(root_, run_dir_), std::nullopt);
  const RuntimeDir place = Create();
  EXPECT_EQ(RuntimeDir::FindSnapshot(root_, run_dir_), std::nullopt);
  Touch(place.path() / "weights-12.4711.tmp");  // about to be renamed
  Touch(place.path() / "gradients-0-1");
  EXPECT_EQ(RuntimeDir::FindSnapshot(root_, run_dir_), std::nullopt);
  Touch(place.SnapshotPath(12));
  EXPECT_EQ(RuntimeDir::FindSnapshot(root_, run_dir_), place.SnapshotPath(12));
}

TEST_F(Places, TheRunDirectoryMayBeSpeltInManyWays) {
  fs::create_directories(run_dir_);
  fs::create_directory_symlink(run_dir_, directory_.path() / "link");
  const fs::path file = RuntimeDir::Find(root_, run_dir_).endpoint_file;
  const fs::path up = run_dir_ / ".." / "breakout";
  for (const fs::path& same : {fs::path(run_dir_.string() + "/"), run_dir_ / ".", up,
                               fs::relative(run_dir_), directory_.path() / "link"}) {
    EXPECT_EQ(RuntimeDir::Find(root_, same).endpoint_file, file) << same;
  }
  EXPECT_NE(RuntimeDir::Find(root_, run_dir_ / "2").endpoint_file, file);
  // Nor does it matter whether it exists yet.
  fs::remove_all(run_dir_);
  EXPECT_EQ(RuntimeDir::Find(root_, run_dir_.string() + "/").endpoint_file, file);
}

TEST_F(Places, NothingIsLeftBehind) {
  fs::path path;
  {
    RuntimeDir place = Create();
    path = place.path();
    Touch(place.path() / "control");
    const RuntimeDir moved = std::move(place);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  const RuntimeDir again = Create();
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(Places, AForkedChildLeavesItAlone) {
  RuntimeDir place = Create();
  EXPECT_EQ(StatusInChild([&] { place.Remove(); }), 0);
  EXPECT_TRUE(fs::exists(place.path()));
  EXPECT_THAT(ErrorOf([&] { Create(); }), HasSubstr("is still using it"));
}

TEST_F(Places, APathTooLongForASocketIsRefused) {
  const fs::path deep = directory_.path() / std::string(80, 'd');
  fs::create_directory(deep);
  const fs::path root = RuntimeRoot(deep.string());
  EXPECT_THAT(ErrorOf([&] { RuntimeDir::Create(root, run_dir_); }),
              AllOf(HasSubstr("107"), HasSubstr("wire.runtime_dir")));
}

// A learner in a process of its own, which holds its place until it is killed.
class OtherLearner {
 public:
  // `child`: called in the child after it has created its place.
  OtherLearner(
      const fs::path& root, const fs::path& run_dir,
      const std::function<void(RuntimeDir&)>& child = [](RuntimeDir&) {}) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = Fork([&] {
      RuntimeDir place = RuntimeDir::Create(root, run_dir);
      child(place);
      if (write(ends[1], "h", 1) != 1) _exit(1);
      for (;;) pause();
    });
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  ~OtherLearner() { Kill(); }
  OtherLearner(const OtherLearner&) = delete;
  OtherLearner& operator=(const OtherLearner&) = delete;
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST_F(Places, TwoLearnersOnOneRunAreRefusedWithTheProcess) {
  OtherLearner other(root_, run_dir_, [](RuntimeDir& place) { Touch(place.path() / "mine"); });
  EXPECT_THAT(ErrorOf([&] { Create(); }),
              AllOf(HasSubstr(run_dir_.string()), HasSubstr(std::to_string(other.pid()))));
  const fs::path path = RuntimeDir::Find(root_, run_dir_).endpoint_file.parent_path();
  EXPECT_TRUE(fs::exists(path / "mine"));
  // Another run is none of its business.
  EXPECT_EQ(ErrorOf([&] { RuntimeDir::Create(root_, run_dir_ / "other"); }), "");
}

TEST_F(Places, WhatAKilledLearnerLeftIsRemovedByTheNext) {
  OtherLearner other(root_, run_dir_, [](RuntimeDir& place) {
    Touch(place.SnapshotPath(1));
    place.WriteEndpoint("ipc://old");
  });
  other.Kill();
  EXPECT_EQ(RuntimeDir::Find(root_, run_dir_).endpoint, "ipc://old");
  const RuntimeDir place = Create();
  EXPECT_FALSE(fs::exists(place.SnapshotPath(1)));
  EXPECT_EQ(RuntimeDir::Find(root_, run_dir_).endpoint, std::nullopt);
}

TEST_F(Places, StaleOnesAreRemovedAndLiveOnesKept) {
  OtherLearner dead(root_, run_dir_ / "dead", [](RuntimeDir& place) {
    fs::create_directory(place.path() / "deep");
    Touch(place.path() / "deep" / "file");
  });
  OtherLearner alive(root_, run_dir_ / "alive");
  const RuntimeDir own = RuntimeDir::Create(root_, run_dir_ / "own");
  dead.Kill();
  EXPECT_EQ(RuntimeDir::RemoveStale(root_), 1u);
  EXPECT_EQ(RuntimeDir::RemoveStale(root_), 0u);
  EXPECT_TRUE(fs::exists(own.path()));
  const auto path = [&](const char* name) {
    return RuntimeDir::Find(root_, run_dir_ / name).endpoint_file.parent_path();
  };
  EXPECT_TRUE(fs::exists(path("alive")));
  EXPECT_FALSE(fs::exists(path("dead")));
}

TEST_F(Places, ALearnersChildrenDoNotHoldItsPlace) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  OtherLearner other(root_, run_dir_, [&](RuntimeDir&) {
    if (fork() == 0) {  // an actor, say: it lives until this test closes the pipe
      dup2(ends[0], STDIN_FILENO);
      execlp("cat", "cat", static_cast<char*>(nullptr));
      _exit(1);
    }
  });
  close(ends[0]);
  other.Kill();
  EXPECT_TRUE(Until([&] { return ErrorOf([&] { Create(); }).empty(); }));
  close(ends[1]);
}

TEST_F(Places, OnlyPlacesAreRemoved) {
  fs::create_directory(directory_.path() / "precious");
  Touch(directory_.path() / "precious" / "data");
  fs::create_directory_symlink(directory_.path() / "precious", root_ / "0123456789ab");
  fs::create_directory(root_ / "notes");
  Touch(root_ / "abcdefabcdef");  // a file
  EXPECT_EQ(RuntimeDir::RemoveStale(root_), 0u);
  EXPECT_TRUE(fs::exists(directory_.path() / "precious" / "data"));
  EXPECT_TRUE(fs::exists(root_ / "notes"));
  EXPECT_TRUE(fs::exists(root_ / "abcdefabcdef"));
  fs::create_directory(root_ / "fedcba987654");  // a place whose learner died before its lock
  EXPECT_EQ(RuntimeDir::RemoveStale(root_), 1u);
}

TEST_F(Places, OfManyLearnersThatRaceOneWins) {
  constexpr int kLearners = 8;
  int results[2], hold[2];
  ASSERT_EQ(pipe2(results, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(hold, O_CLOEXEC), 0);
  std::vector<pid_t> pids;
  for (int i = 0; i < kLearners; ++i) {
    pids.push_back(Fork([&] {
      close(hold[1]);
      std::optional<RuntimeDir> place;
      const bool lost = !ErrorOf([&] { place.emplace(Create()); }).empty();
      char byte = lost ? 'l' : 'w';
      const bool told = write(results[1], &byte, 1) == 1;
      return told && read(hold[0], &byte, 1) >= 0 ? 0 : 1;  // until all have tried
    }));
  }
  int winners = 0;
  for (int i = 0; i < kLearners; ++i) {
    char byte = 0;
    ASSERT_EQ(read(results[0], &byte, 1), 1);
    winners += byte == 'w' ? 1 : 0;
  }
  EXPECT_EQ(winners, 1);
  close(hold[1]);
  for (const pid_t pid : pids) EXPECT_EQ(StatusOf(pid), 0);
  for (const int fd : {results[0], results[1], hold[0]}) close(fd);
}

}  // namespace
}  // namespace starling::wire
