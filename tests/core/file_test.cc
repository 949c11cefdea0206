#include "core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>

#include "tests/support/in_child.h"
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

TEST(WriteFileAtomically, WritesAndReplaces) {
  const TempDir dir;
  WriteFileAtomically(dir / "a", "one");
  EXPECT_EQ(ReadFile(dir / "a"), "one");
  const std::array<std::string_view, 3> parts = {"two ", "", std::string_view("\0\n", 2)};
  WriteFileAtomically(dir / "a", parts);
  EXPECT_EQ(ReadFile(dir / "a"), std::string("two \0\n", 6));
  WriteFileAtomically(dir / "a", "");
  EXPECT_EQ(ReadFile(dir / "a"), "");
  EXPECT_EQ(dir.CountFiles(), 1u);
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

TEST(WriteFileAtomically, WritesIntoTheWorkingDirectoryToo) {
  const TempDir dir;
  EXPECT_EQ(StatusInChild([&] {
              std::filesystem::current_path(dir.path());
              WriteFileAtomically("bare", "x");
            }),
            0);
  EXPECT_EQ(ReadFile(dir / "bare"), "x");
}

TEST(WriteFileAtomically, NamesADirectoryThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TempDir dir;
  ::chmod(dir.path().c_str(), 0500);
  EXPECT_EQ(ErrorCodeOf([&] { WriteFileAtomically(dir / "a", "x"); }, dir / "a"),
            std::errc::permission_denied);
  ::chmod(dir.path().c_str(), 0700);
}

TEST(WriteFileAtomically, LeavesNoTemporaryFileWhenItFails) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "taken");
  const auto code = [&](const char* name) {
    return ErrorCodeOf([&] { WriteFileAtomically(dir / name, "x"); }, dir / name);
  };
  EXPECT_EQ(code("taken"), std::errc::is_a_directory);
  EXPECT_EQ(code("absent/file"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(dir.CountFiles(), 1u);
}

// A limit on the size of files makes the write fail half way, as a full disk would.
TEST(WriteFileAtomically, TheOldFileSurvivesAWriteThatFailsHalfWay) {
  const TempDir dir;
  WriteFileAtomically(dir / "a", "old and whole");
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(
        ErrorCodeOf([&] { WriteFileAtomically(dir / "a", std::string(100'000, 'n')); }, dir / "a"),
        std::errc::file_too_large);
  }
  EXPECT_EQ(ReadFile(dir / "a"), "old and whole");
  EXPECT_EQ(dir.CountFiles(), 1u);
}

// Two threads replace the same file while a third reads it: it never sees half of one.
TEST(WriteFileAtomically, AReaderSeesOneWholeFileOrTheOther) {
  const TempDir dir;
  const std::string a(50'000, 'a'), b(70'000, 'b');
  WriteFileAtomically(dir / "f", a);
  std::atomic<int> writing = 2;
  const auto write = [&](const std::string& content) {
    for (int i = 0; i < 30; ++i) WriteFileAtomically(dir / "f", content);
    --writing;
  };
  std::thread first(write, a), second(write, b);
  while (writing > 0) {
    const std::string seen = ReadFile(dir / "f");
    EXPECT_TRUE(seen == a || seen == b) << seen.size();
  }
  first.join();
  second.join();
  EXPECT_EQ(dir.CountFiles(), 1u);
}

TEST(ReadFile, ReadsLargeFilesAndFilesWithoutASize) {
  const TempDir dir;
  std::string large;
  for (int i = 0; i < 300'000; ++i) large += static_cast<char>(i * 7);
  dir.Write("large", large);
  EXPECT_EQ(ReadFile(dir / "large"), large);
  EXPECT_THAT(ReadFile("/proc/self/status"), HasSubstr("Pid:"));
}

TEST(ReadFile, NamesAFileThatCannotBeRead) {
  const TempDir dir;
  EXPECT_EQ(ErrorCodeOf([&] { ReadFile(dir / "absent"); }, dir / "absent"),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(ErrorCodeOf([&] { ReadFile(dir.path()); }, dir.path()), std::errc::is_a_directory);
}

}  // namespace
}  // namespace starling
