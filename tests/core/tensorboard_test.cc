#include "core/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "0a 62" as bytes.
std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 3) {
    bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  }
  return bytes;
}

// The data of every record of a file; anything but whole records is a failure.
std::vector<std::string> Records(const std::filesystem::path& path) {
  const std::string file = ReadFile(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    const std::string data = file.substr(at + 12, length);
    EXPECT_EQ(file.substr(at, length + 16), FrameRecord(data)) << "at byte " << at;
    records.push_back(data);
    at += length + 16;
  }
  return records;
}

std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// RFC 3720, appendix B.4, and the check value that catalogues of CRCs give.
TEST(Crc32c, KnownAnswers) {
  std::string up, down;
  for (char i = 0; i < 32; ++i) {
    up += i;
    down += static_cast<char>(31 - i);
  }
  const std::string read_pdu = Bytes(
      "01 c0 00 00 00 00 00 00 00 00 00 00 00 00 00 00 14 00 00 00 00 00 04 00 "
      "00 00 00 14 00 00 00 18 28 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00");
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(up), 0x46dd794eu);
  EXPECT_EQ(Crc32c(down), 0x113fdb5cu);
  EXPECT_EQ(Crc32c(read_pdu), 0xd9963a56u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

// 0xe3069283 rotated right by 15 is 0x2507c60d.
TEST(Crc32c, Masked) {
  EXPECT_EQ(MaskedCrc32c("123456789"), 0x2507c60du + 0xa282ead8u);
  EXPECT_EQ(MaskedCrc32c(""), 0xa282ead8u);
}

TEST(Record, LengthDataAndAChecksumOfEach) {
  EXPECT_EQ(FrameRecord("abc"), Bytes("03 00 00 00 00 00 00 00 b0 99 49 0e 61 62 63 6e 57 f1 21"));
}

TEST(Event, IsAMessageOfProtobuf) {
  const std::string time = Bytes("09 00 00 00 00 00 00 f8 3f");  // field 1: 1.5
  // The version is field 3, of 13 bytes; the start is status 1 of field 7.
  EXPECT_EQ(VersionEvent(1.5), time + Bytes("1a 0d") + "brain.Event:2");
  EXPECT_EQ(StartEvent(1.5, 300), time + Bytes("10 ac 02 3a 02 08 01"));
  // The step is field 2: 300 is 0b10'0101100, the low seven bits first, with the high bit set.
  EXPECT_EQ(ScalarsEvent(1.5, 300, std::vector<Scalar>{{"a", 0.5}, {"b/c", -2.0}}),
            time + Bytes("10 ac 02 2a 16 0a 08 0a 01 61 15 00 00 00 3f "
                         "0a 0a 0a 03 62 2f 63 15 00 00 00 c0"));
  // 200 = c8 01; the value is 1 + 2 + 200 + 5 = 208 = d0 01, the summary 1 + 2 + 208 = 211 = d3 01.
  const std::string tag(200, 't');
  EXPECT_EQ(
      ScalarsEvent(1.5, 5'000'000'000, std::vector<Scalar>{{tag, 0.5}}),
      time + Bytes("10 80 e4 97 d0 12 2a d3 01 0a d0 01 0a c8 01") + tag + Bytes("15 00 00 00 3f"));
}

using EventFileTest = TempDirTest;

TEST_F(EventFileTest, BeginsWithItsVersionAndIsReadableAtOnce) {
  EventFile events(dir_ / "a/tensorboard", 7);
  const auto files = FilesOf(dir_ / "a/tensorboard");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(files[0].filename().string(), testing::StartsWith("events.out.tfevents."));
  ASSERT_TRUE(events.Write(160, std::vector<Scalar>{{"return", 1.0}}));
  ASSERT_TRUE(events.Write(320, std::vector<Scalar>{{"return", 2.0}}));
  const auto records = Records(files[0]);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0], testing::EndsWith("brain.Event:2"));
  EXPECT_EQ(records[1].substr(9), Bytes("10 07 3a 02 08 01"));
  EXPECT_EQ(records[2].substr(9),
            ScalarsEvent(0, 160, std::vector<Scalar>{{"return", 1.0}}).substr(9));
  EXPECT_EQ(records[3].substr(9),
            ScalarsEvent(0, 320, std::vector<Scalar>{{"return", 2.0}}).substr(9));
}

TEST_F(EventFileTest, TwoOfOneSecondAreTwoFilesInOrder) {
  const EventFile first(dir_.path(), 0);
  const auto before = FilesOf(dir_.path());
  const EventFile second(dir_.path(), 0);
  const auto after = FilesOf(dir_.path());
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0], before[0]);
}

TEST_F(EventFileTest, NamesADirectoryThatCannotBeMade) {
  dir_.Write("tensorboard", "a file");
  EXPECT_THAT(ErrorOf<std::system_error>([&] { EventFile(dir_ / "tensorboard", 0); }),
              HasSubstr((dir_ / "tensorboard").string()));
}

TEST_F(EventFileTest, WhatDoesNotFitLeavesNoTornRecordAndTheNextMayFitAgain) {
  const std::vector<Scalar> scalars{{"return", 1.0}};
  EventFile events(dir_.path(), 0);
  const auto size = [file = FilesOf(dir_.path()).at(0)] {
    return std::filesystem::file_size(file);
  };
  const FileSizeLimit limit(50);  // within the second record
  EXPECT_FALSE(events.Write(1, scalars));
  EXPECT_EQ(size(), 0u);
  limit.Set(200);
  std::uintmax_t whole = 0;
  while (events.Write(2, scalars)) whole = size();
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, 200u);
  EXPECT_EQ(size(), whole);
  limit.Set(1000);
  EXPECT_TRUE(events.Write(3, scalars));
  const auto records = Records(FilesOf(dir_.path()).at(0));
  ASSERT_GE(records.size(), 4u);
  EXPECT_THAT(records[0], testing::EndsWith("brain.Event:2"));
  EXPECT_EQ(records.back().substr(9, 2), Bytes("10 03"));
}

// TensorBoard itself, where the Python of $STARLING_TENSORBOARD_PYTHON (or python3) has it.
TEST_F(EventFileTest, TensorBoardReadsItBack) {
  const char* named = std::getenv("STARLING_TENSORBOARD_PYTHON");
  const std::string python = named == nullptr ? "python3" : named;
  if (std::system((python + " -c 'import tensorboard' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python
                 << " has no tensorboard; STARLING_TENSORBOARD_PYTHON may name one that has";
  }
  {
    EventFile killed(dir_ / "events", 0);  // whose run went on from step 320
    killed.Write(160, std::vector<Scalar>{{"return", 1.5}});
    killed.Write(480, std::vector<Scalar>{{"return", -1.0}});
    EventFile events(dir_ / "events", 321);
    events.Write(5'000'000'000, std::vector<Scalar>{{"return", 2.5}, {"loss/policy", -0.25}});
  }
  const auto script = dir_.Write("read.py", R"(import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in sorted(events.Tags()['scalars']):
    for event in events.Scalars(tag):
        print(tag, event.step, event.value, event.wall_time > 1.7e9)
)");
  const std::string command =
      python + " " + script.string() + " " + (dir_ / "events").string() + " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> lines;
  for (char line[200]; std::fgets(line, sizeof line, pipe.get()) != nullptr;) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre("loss/policy 5000000000 -0.25 True\n", "return 160 1.5 True\n",
                                 "return 5000000000 2.5 True\n"));
}

}  // namespace
}  // namespace starling
