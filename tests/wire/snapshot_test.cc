#include "wire/snapshot.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kFloats = 4096;
constexpr std::uint64_t kFingerprint = 0xABCD;
constexpr std::uint32_t kTerm = 6;

// Every float is a function of its version and its place.
float ValueAt(std::uint64_t version, std::size_t i) {
  return static_cast<float>((version * 7919 + i) % (1 << 23));
}
std::vector<float> WeightsOf(std::uint64_t version) {
  std::vector<float> values(kFloats);
  for (std::size_t i = 0; i < kFloats; ++i) values[i] = ValueAt(version, i);
  return values;
}
SnapshotMeta MetaOf(std::uint64_t version) {
  return {.term = kTerm, .version = version, .steps = 160 * version, .entropy = 0.5};
}
void WriteUnpublished(SnapshotWriter& writer, std::uint64_t version) {
  writer.Begin(version);
  writer.Write(version, 0, WeightsOf(version));
}
void WriteVersion(SnapshotWriter& writer, std::uint64_t version) {
  WriteUnpublished(writer, version);
  writer.Publish(MetaOf(version));
}

void ExpectReads(SnapshotReader& reader, std::uint64_t version) {
  std::vector<float> out(kFloats);
  SnapshotMeta meta;
  ASSERT_EQ(reader.Latest(), version);
  ASSERT_TRUE(reader.Read(version, out, meta));
  EXPECT_EQ(meta, MetaOf(version));
  EXPECT_EQ(out, WeightsOf(version));
}

class Snapshot : public testing::Test {
 protected:
  std::string ReaderError(std::size_t floats = kFloats,
                          std::uint64_t fingerprint = kFingerprint) const {
    return ErrorOf<std::runtime_error>([&] { SnapshotReader(path_, floats, fingerprint); });
  }
  SnapshotWriter Writer() const { return {path_, kFloats, kFingerprint, kTerm}; }
  SnapshotReader Reader() const { return {path_, kFloats, kFingerprint}; }

  TempDir directory_;
  const std::filesystem::path path_ = directory_.path() / "weights";
};

// With a writer, and a reader of its file.
class OpenSnapshot : public Snapshot {
 protected:
  SnapshotWriter writer_ = Writer();
  SnapshotReader reader_ = Reader();
};

TEST_F(OpenSnapshot, NoneYet) {
  EXPECT_EQ(reader_.Latest(), std::nullopt);
  EXPECT_FALSE(reader_.Latest() >= 0u);
  std::vector<float> out(kFloats);
  SnapshotMeta meta;
  EXPECT_FALSE(reader_.Read(0, out, meta));
  EXPECT_EQ(reader_.term(), kTerm);
  EXPECT_EQ(reader_.floats(), kFloats);
}

TEST_F(OpenSnapshot, EveryVersionIsReadAsItWasWritten) {
  SnapshotReader inside(writer_);
  for (std::uint64_t version = 900; version < 910; ++version) {  // of a learner that was resumed
    WriteVersion(writer_, version);
    ExpectReads(reader_, version);
    ExpectReads(inside, version);
  }
}

TEST_F(OpenSnapshot, ItsStepsCanBeSeenWithoutTheWeights) {
  EXPECT_EQ(reader_.Peek(), std::nullopt);
  WriteVersion(writer_, 4);
  WriteVersion(writer_, 5);
  EXPECT_EQ(reader_.Peek(), MetaOf(5));
  writer_.Begin(6);  // and killed here
  EXPECT_EQ(reader_.Peek(), MetaOf(5));
}

TEST_F(OpenSnapshot, AVersionIsSeenWhenItIsPublishedNotBefore) {
  WriteVersion(writer_, 0);
  WriteUnpublished(writer_, 1);
  WriteUnpublished(writer_, 2);  // two at a time, and still the newest complete one is whole
  ExpectReads(reader_, 0);
  writer_.Publish(MetaOf(1));
  ExpectReads(reader_, 1);
  writer_.Publish(MetaOf(2));
  ExpectReads(reader_, 2);
}

TEST_F(OpenSnapshot, VersionsMayBeLeftOutOneByOne) {
  for (const std::uint64_t version : {0, 2, 3, 5, 7, 9, 10}) {
    WriteUnpublished(writer_, version);
    if (const auto newest = reader_.Latest()) ExpectReads(reader_, *newest);  // whole meanwhile
    writer_.Publish(MetaOf(version));
    ExpectReads(reader_, version);
  }
}

TEST_F(OpenSnapshot, LatestNeverGoesBack) {
  WriteUnpublished(writer_, 0);
  WriteUnpublished(writer_, 1);
  writer_.Publish(MetaOf(1));
  writer_.Publish(MetaOf(0));
  ExpectReads(reader_, 1);
}

TEST_F(OpenSnapshot, LanesWriteTheirOwnSlices) {
  const std::vector<float> all = WeightsOf(3);
  std::size_t offset = 0;
  for (const std::size_t size :
       {std::size_t{16}, std::size_t{0}, std::size_t{1600}, kFloats - 1616}) {
    writer_.Begin(3);
    writer_.Write(3, offset, std::span(all).subspan(offset, size));
    offset += size;
  }
  writer_.Publish(MetaOf(3));
  ExpectReads(reader_, 3);
}

TEST_F(Snapshot, OlderVersionsAreKeptInFurtherSlots) {
  SnapshotWriter writer(path_, kFloats, kFingerprint, kTerm, 5);
  SnapshotReader reader = Reader();
  std::vector<float> out(kFloats);
  SnapshotMeta meta;
  for (std::uint64_t version = 700; version < 720; ++version) {
    EXPECT_FALSE(reader.ReadVersion(version, out, meta)) << "it is not there yet";
    WriteVersion(writer, version);
    ExpectReads(reader, version);
    for (std::uint64_t kept = std::max<std::uint64_t>(version - 4, 700); kept <= version; ++kept) {
      ASSERT_TRUE(reader.ReadVersion(kept, out, meta));
      EXPECT_EQ(meta, MetaOf(kept));
      EXPECT_EQ(out, WeightsOf(kept));
    }
    if (version >= 705) {
      EXPECT_FALSE(reader.ReadVersion(version - 5, out, meta));
    }
  }
  writer.Begin(720);  // over version 715
  EXPECT_FALSE(reader.ReadVersion(715, out, meta));
  EXPECT_TRUE(reader.ReadVersion(716, out, meta));
}

TEST_F(Snapshot, TheFileIsPrivateAndAlone) {
  const SnapshotWriter writer = Writer();
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_EQ(directory_.CountFiles(), 1u);  // no temporary file
}

TEST_F(Snapshot, RemoveUnlinksAndReadersKeepTheirs) {
  std::optional<SnapshotWriter> writer;
  writer.emplace(path_, kFloats, kFingerprint, kTerm);
  SnapshotReader reader = Reader();
  writer->Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
  WriteVersion(*writer, 0);
  writer.reset();
  ExpectReads(reader, 0);
}

TEST_F(Snapshot, ASuccessorReplacesTheFileNotTheMemory) {
  SnapshotWriter old = Writer();
  SnapshotReader old_reader = Reader();
  WriteVersion(old, 7);
  SnapshotWriter fresh = Writer();
  SnapshotReader fresh_reader = Reader();
  EXPECT_EQ(fresh_reader.Latest(), std::nullopt);
  WriteVersion(fresh, 2);
  ExpectReads(old_reader, 7);
  ExpectReads(fresh_reader, 2);
}

TEST_F(Snapshot, AnonymousMemoryOutlivesItsWriter) {
  std::optional<SnapshotWriter> writer;
  writer.emplace("", kFloats, kFingerprint, kTerm);
  SnapshotReader reader(*writer);
  WriteVersion(*writer, 1);
  writer->Remove();  // nothing to remove
  writer.reset();
  ExpectReads(reader, 1);
}

TEST_F(Snapshot, AWrongFileIsNamedWithWhatIsWrong) {
  EXPECT_THAT(ReaderError(), AllOf(HasSubstr(path_.string()), HasSubstr("No such file")));
  { const SnapshotWriter writer = Writer(); }
  EXPECT_EQ(ReaderError(), "");
  EXPECT_THAT(ReaderError(kFloats + 16), HasSubstr("4096 floats, not 4112"));
  EXPECT_THAT(ReaderError(kFloats, 1), HasSubstr("of the net 000000000000abcd"));
  std::filesystem::resize_file(path_, 4096 + 3 * 4 * kFloats - 1);
  EXPECT_THAT(ReaderError(), HasSubstr("bytes, not"));
  std::filesystem::resize_file(path_, 100);
  EXPECT_THAT(ReaderError(), HasSubstr("100 bytes are too few"));
  std::ofstream(path_) << std::string(4096 + 3 * 4 * kFloats, 'x');
  EXPECT_THAT(ReaderError(), HasSubstr("another format"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(ReaderError(), HasSubstr("not a file"));
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_NE(ReaderError(), "");
}

TEST_F(Snapshot, AMissingDirectoryIsTheOperatorsMistake) {
  const std::filesystem::path nowhere = directory_.path() / "no" / "weights";
  EXPECT_THAT(ErrorOf([&] { SnapshotWriter writer(nowhere, kFloats, kFingerprint, kTerm); }),
              AllOf(HasSubstr(nowhere.string()), HasSubstr("wire.runtime_dir")));
}

// A resumed learner must not end the run because its memory is still taken.
TEST_F(Snapshot, WithoutRoomItIsNotShared) {
  EXPECT_TRUE(SnapshotWriter::SharedIfThereIsRoom(path_, kFloats, kFingerprint, kTerm).shared());
  auto writer = SnapshotWriter::SharedIfThereIsRoom(directory_.path() / "no" / "weights", kFloats,
                                                    kFingerprint, kTerm);
  EXPECT_FALSE(writer.shared());
  SnapshotReader reader(writer);
  WriteVersion(writer, 3);
  ExpectReads(reader, 3);
}

TEST_F(Snapshot, AFullFileSystemIsAnErrorNotABusError) {
  const FileSizeLimit limit(8192);  // smaller than the weights
  EXPECT_THROW(Writer(), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(Snapshot, AWriterKilledHalfWayThroughAVersionLeavesThePreviousOne) {
  const pid_t pid = Fork([&] {
    SnapshotWriter writer(path_, kFloats, kFingerprint, kTerm);
    for (std::uint64_t version = 0; version < 5; ++version) WriteVersion(writer, version);
    writer.Begin(5);
    writer.Write(5, 0, std::span<const float>(WeightsOf(5)).first(kFloats / 2));
    writer.Begin(6);
    writer.Write(6, 0, std::span<const float>(WeightsOf(6)).first(kFloats / 4));
    kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(StatusOf(pid), 128 + SIGKILL);
  SnapshotReader reader = Reader();
  ExpectReads(reader, 4);
}

TEST_F(Snapshot, AWriterKilledAtAnyMomentLeavesACompleteVersion) {
  for (int round = 0; round < 20; ++round) {
    std::filesystem::remove(path_);
    const pid_t pid = Fork([&] {
      SnapshotWriter writer(path_, kFloats, kFingerprint, kTerm);
      for (std::uint64_t version = 0;; ++version) WriteVersion(writer, version);
    });
    std::optional<SnapshotReader> reader;
    ASSERT_TRUE(Until([&] {
      if (!reader && std::filesystem::exists(path_)) reader.emplace(Reader());
      return reader && reader->Latest() >= static_cast<std::uint64_t>(round);
    }));
    kill(pid, SIGKILL);
    StatusOf(pid);
    ExpectReads(*reader, *reader->Latest());
  }
}

TEST_F(Snapshot, AReaderKilledWhileReadingPinsNothing) {
  SnapshotWriter writer = Writer();
  WriteVersion(writer, 0);
  // 1. A process reads all the time.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = Fork([&] {
    SnapshotReader reader = Reader();
    std::vector<float> out(kFloats);
    SnapshotMeta meta;
    for (;;) {
      reader.Read(0, out, meta);
      if (write(ends[1], "r", 1) != 1) _exit(1);
    }
  });
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  // 2. It is killed; the writer goes on as before.
  std::uint64_t version = 1;
  for (; version < 100; ++version) WriteVersion(writer, version);
  kill(pid, SIGKILL);
  StatusOf(pid);
  for (; version < 200; ++version) WriteVersion(writer, version);
  SnapshotReader reader = Reader();
  ExpectReads(reader, 199);
  close(ends[0]);
  close(ends[1]);
}

TEST(SnapshotDeathTest, OurOwnMistakesAreChecked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SnapshotWriter writer("", kFloats, kFingerprint, kTerm);
  SnapshotReader reader(writer);
  const std::vector<float> values(kFloats);
  const std::span<const float> span(values);
  std::vector<float> out(kFloats);
  SnapshotMeta meta;
  EXPECT_DEATH(SnapshotWriter("", 17, 0, 0), "floats");
  writer.Begin(0);
  EXPECT_DEATH(writer.Begin(3), "begun");  // version 0 was not published
  EXPECT_DEATH(writer.Write(0, 8, span.first(16)), "offset");
  EXPECT_DEATH(writer.Write(0, 0, span.first(24)), "values.size");
  EXPECT_DEATH(writer.Write(0, 16, span), "values.size");
  EXPECT_DEATH(writer.Publish(MetaOf(1)), "begin");
  EXPECT_DEATH(writer.Publish({.term = kTerm + 1, .version = 0}), "term");
  writer.Publish(MetaOf(0));
  EXPECT_DEATH(reader.Read(0, std::span(out).first(16), meta), "out.size");
}

}  // namespace
}  // namespace starling::wire
