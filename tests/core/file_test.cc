#include "core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "tests/support/in_child.h"
#include "tests/support/power_cut.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using testing::HasSubstr;

// The error that `act` throws; it must name `path`.
std::error_code ErrorCodeOf(const std::function<void()>& act, const std::filesystem::path& path) {
  try {
    act();
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using WriteFileAtomicallyTest = TempDirTest;

TEST_F(WriteFileAtomicallyTest, WritesAndReplaces) {
  WriteFileAtomically(dir_ / "a", "one");
  EXPECT_EQ(ReadFile(dir_ / "a"), "one");
  const std::array<std::string_view, 3> parts = {"two ", "", std::string_view("\0\n", 2)};
  WriteFileAtomically(dir_ / "a", parts);
  EXPECT_EQ(ReadFile(dir_ / "a"), std::string("two \0\n", 6));
  WriteFileAtomically(dir_ / "a", "");
  EXPECT_EQ(ReadFile(dir_ / "a"), "");
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

// A supervisor waits for a file that grows: only what the disk has counts.
TEST_F(WriteFileAtomicallyTest, CountsTheBytesThatAreSynced) {
  const std::string large(20 << 20, 'x');
  const std::array<std::string_view, 3> parts = {"head", large, "tail"};
  WriteProgress progress;
  progress.Add(77);  // of another file
  WriteFileAtomically(dir_ / "a", parts, 0644, &progress);
  EXPECT_EQ(progress.now().size, large.size() + 8);
  EXPECT_EQ(progress.now().written, 16u << 20) << "the rest is synced with the file";
  EXPECT_EQ(ReadFile(dir_ / "a"), "head" + large + "tail");
}

TEST_F(WriteFileAtomicallyTest, APowerCutAtAnyMomentLeavesTheOldOrTheNewFile) {
  std::filesystem::create_directory(dir_ / "disk");
  PowerCut power(dir_ / "disk");
  const std::string large(9 << 20, 'x');
  std::string before, after;  // contents of the file
  const auto look = [&] {
    for (const auto names : {PowerCut::Names::kLost, PowerCut::Names::kWritten}) {
      power.CopyTo(dir_ / "left", names);
      const bool exists = std::filesystem::exists(dir_ / "left/a");
      const std::string left = exists ? ReadFile(dir_ / "left/a") : "";
      EXPECT_TRUE(left == before || left == after) << left.size() << " bytes";
    }
  };
  power.BeforeEverySync(look);
  for (const bool with_progress : {false, true}) {
    for (const std::string& content : {std::string("one"), large, std::string("two")}) {
      before = std::exchange(after, content);
      const std::string_view part = content;
      WriteProgress progress;
      WriteFileAtomically(dir_ / "disk/a", {&part, 1}, 0644, with_progress ? &progress : nullptr);
      before = after;  // it has returned: the old file never comes back
      look();
    }
  }
}

TEST_F(WriteFileAtomicallyTest, ReplaceFileLeavesOneWholeFile) {
  ReplaceFile(dir_ / "a", "one");
  ReplaceFile(dir_ / "a", "the other");
  EXPECT_EQ(ReadFile(dir_ / "a"), "the other");
  EXPECT_EQ(dir_.CountFiles(), 1u);
  const auto nowhere = dir_ / "none" / "a";
  EXPECT_EQ(ErrorCodeOf([&] { ReplaceFile(nowhere, "x"); }, nowhere),
            std::errc::no_such_file_or_directory);
  std::filesystem::create_directory(dir_ / "b");
  EXPECT_TRUE(ErrorCodeOf([&] { ReplaceFile(dir_ / "b", "x"); }, dir_ / "b"));
  EXPECT_EQ(dir_.CountFiles(), 2u) << "no temporary file is left";
}

TEST(ReadRegularFile, NothingElse) {
  const TempDir dir;
  WriteFileAtomically(dir / "a", "one");
  EXPECT_EQ(ReadRegularFile(dir / "a"), "one");
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const auto code = [](const std::filesystem::path& path) {
    return ErrorCodeOf([&] { ReadRegularFile(path); }, path);
  };
  EXPECT_EQ(code(dir / "pipe"), std::errc::invalid_argument);
  EXPECT_EQ(code(dir.path()), std::errc::is_a_directory);
  EXPECT_EQ(code(dir / "absent"), std::errc::no_such_file_or_directory);
}

TEST(ReadFileEnd, TheLastBytesOrAll) {
  const TempDir dir;
  const auto path = dir.Write("a", "one\ntwo\n");
  EXPECT_EQ(ReadFileEnd(path, 4), "two\n");
  EXPECT_EQ(ReadFileEnd(path, 8), "one\ntwo\n");
  EXPECT_EQ(ReadFileEnd(path, 100), "one\ntwo\n");
  EXPECT_EQ(ReadFileEnd(dir / "absent", 4), "");
  EXPECT_EQ(ReadFileEnd(dir.path(), 4), "");
}

TEST_F(WriteFileAtomicallyTest, WritesIntoTheWorkingDirectoryToo) {
  EXPECT_EQ(StatusInChild([&] {
              std::filesystem::current_path(dir_.path());
              WriteFileAtomically("bare", "x");
            }),
            0);
  EXPECT_EQ(ReadFile(dir_ / "bare"), "x");
}

TEST_F(WriteFileAtomicallyTest, NamesADirectoryThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ::chmod(dir_.path().c_str(), 0500);
  EXPECT_EQ(ErrorCodeOf([&] { WriteFileAtomically(dir_ / "a", "x"); }, dir_ / "a"),
            std::errc::permission_denied);
  ::chmod(dir_.path().c_str(), 0700);
}

TEST_F(WriteFileAtomicallyTest, LeavesNoTemporaryFileWhenItFails) {
  std::filesystem::create_directory(dir_ / "taken");
  const auto code = [&](const char* name) {
    return ErrorCodeOf([&] { WriteFileAtomically(dir_ / name, "x"); }, dir_ / name);
  };
  EXPECT_EQ(code("taken"), std::errc::is_a_directory);
  EXPECT_EQ(code("absent/file"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

// A limit on the size of files makes the write fail half way, as a full disk would.
TEST_F(WriteFileAtomicallyTest, TheOldFileSurvivesAWriteThatFailsHalfWay) {
  WriteFileAtomically(dir_ / "a", "old and whole");
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(ErrorCodeOf([&] { WriteFileAtomically(dir_ / "a", std::string(100'000, 'n')); },
                          dir_ / "a"),
              std::errc::file_too_large);
  }
  EXPECT_EQ(ReadFile(dir_ / "a"), "old and whole");
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

// Two threads replace the same file while a third reads it: it never sees half of one.
TEST_F(WriteFileAtomicallyTest, AReaderSeesOneWholeFileOrTheOther) {
  const std::string a(50'000, 'a'), b(70'000, 'b');
  WriteFileAtomically(dir_ / "f", a);
  std::atomic<int> writing = 2;
  const auto write = [&](const std::string& content) {
    for (int i = 0; i < 30; ++i) WriteFileAtomically(dir_ / "f", content);
    --writing;
  };
  std::thread first(write, a), second(write, b);
  while (writing > 0) {
    const std::string seen = ReadFile(dir_ / "f");
    EXPECT_TRUE(seen == a || seen == b) << seen.size();
  }
  first.join();
  second.join();
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

using ReadFileTest = TempDirTest;

TEST_F(ReadFileTest, ReadsLargeFilesAndFilesWithoutASize) {
  std::string large;
  for (int i = 0; i < 300'000; ++i) large += static_cast<char>(i * 7);
  dir_.Write("large", large);
  EXPECT_EQ(ReadFile(dir_ / "large"), large);
  EXPECT_THAT(ReadFile("/proc/self/status"), HasSubstr("Pid:"));
}

TEST_F(ReadFileTest, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(ErrorCodeOf([&] { ReadFile(dir_ / "absent"); }, dir_ / "absent"),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(ErrorCodeOf([&] { ReadFile(dir_.path()); }, dir_.path()), std::errc::is_a_directory);
}

// Neither what claims to be huge nor what never ends is read beyond the limit.
TEST_F(ReadFileTest, NothingBeyondALimitIsRead) {
  dir_.Write("a", "four");
  EXPECT_EQ(ReadFile(dir_ / "a", 4), "four");
  dir_.Write("sparse", "");
  std::filesystem::resize_file(dir_ / "sparse", std::uint64_t{1} << 40);
  const auto code = [](const std::filesystem::path& path, std::uint64_t limit) {
    return ErrorCodeOf([&] { ReadFile(path, limit); }, path);
  };
  EXPECT_EQ(code(dir_ / "a", 3), std::errc::file_too_large);
  EXPECT_EQ(code("/dev/zero", 100'000), std::errc::file_too_large);
  EXPECT_EQ(code(dir_ / "sparse", 1 << 20), std::errc::file_too_large);
  EXPECT_EQ(ErrorCodeOf([&] { ReadRegularFile(dir_ / "sparse"); }, dir_ / "sparse"),
            std::errc::file_too_large);
}

}  // namespace
}  // namespace starling
