#include "learner/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "core/file.h"
#include "core/safetensors.h"
#include "tests/core/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Checkpoint MakeCheckpoint(std::uint32_t term, std::uint64_t version, std::int64_t width = 5) {
  Checkpoint checkpoint;
  checkpoint.term = term;
  checkpoint.version = version;
  checkpoint.steps = 160 * version;
  checkpoint.optimizer_step = version;
  checkpoint.journal_offset = 36 + version;
  checkpoint.layout.Add("fc1.weight", {3, width});
  checkpoint.layout.Add("fc1.bias", {width});
  checkpoint.layout.Add("value.weight", {width, 1});
  checkpoint.slot_names = {"square_avg"};
  checkpoint.weights.assign(checkpoint.layout.size(), 0.0f);
  checkpoint.state.assign(1, std::vector<float>(checkpoint.layout.size(), 0.0f));
  for (const net::Parameter& parameter : checkpoint.layout.parameters()) {
    for (std::size_t i = 0; i < parameter.size; ++i) {
      const std::size_t at = parameter.offset + i;
      checkpoint.weights[at] = static_cast<float>(at) + 0.5f + static_cast<float>(version);
      checkpoint.state[0][at] = 1 / static_cast<float>(at + 1);
    }
  }
  checkpoint.config = "[run]\nname = \"a \\\"b\\\" \u00e9\"\n";
  checkpoint.counters = R"({"received": 3, "dropped": {"stale": 1}})";
  return checkpoint;
}

void ExpectEqual(const Checkpoint& got, const Checkpoint& expected) {
  EXPECT_EQ(got.term, expected.term);
  EXPECT_EQ(got.version, expected.version);
  EXPECT_EQ(got.steps, expected.steps);
  EXPECT_EQ(got.optimizer_step, expected.optimizer_step);
  EXPECT_EQ(got.journal_offset, expected.journal_offset);
  EXPECT_EQ(got.layout.fingerprint(), expected.layout.fingerprint());
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.slot_names, expected.slot_names);
  EXPECT_EQ(got.state, expected.state);
  EXPECT_EQ(got.config, expected.config);
  EXPECT_EQ(got.counters, expected.counters);
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  TempDir dir;
  const Checkpoint checkpoint = MakeCheckpoint(1, 12345);
  const auto path = WriteCheckpoint(dir / "checkpoints", checkpoint);
  EXPECT_EQ(path, dir / "checkpoints" / "t0001-v000000012345.safetensors");
  ExpectEqual(ReadCheckpoint(path), checkpoint);
}

TEST(Checkpoint, KeepsTheLargestNumbersAndEveryBitOfAWeight) {
  TempDir dir;
  Checkpoint checkpoint = MakeCheckpoint(UINT32_MAX, UINT64_MAX);
  checkpoint.steps = checkpoint.optimizer_step = checkpoint.journal_offset = UINT64_MAX;
  checkpoint.weights[0] = -0.0f;
  checkpoint.weights[1] = std::numeric_limits<float>::denorm_min();
  const Checkpoint got = ReadCheckpoint(WriteCheckpoint(dir.path(), checkpoint));
  ExpectEqual(got, checkpoint);
  EXPECT_TRUE(std::signbit(got.weights[0]));
}

TEST(Checkpoint, OfAnOptimizerWithoutStateHasNone) {
  TempDir dir;
  Checkpoint checkpoint = MakeCheckpoint(1, 1);
  checkpoint.slot_names.clear();
  checkpoint.state.clear();
  ExpectEqual(ReadCheckpoint(WriteCheckpoint(dir.path(), checkpoint)), checkpoint);
}

TEST(Checkpoint, HoldsOneTensorForEachParameterInItsShape) {
  TempDir dir;
  const auto path = WriteCheckpoint(dir.path(), MakeCheckpoint(1, 0));
  const SafetensorsFile file = SafetensorsFile::Read(path);
  EXPECT_THAT(
      file.names(),
      ElementsAre("fc1.weight", "fc1.bias", "value.weight", "optimizer.square_avg.fc1.weight",
                  "optimizer.square_avg.fc1.bias", "optimizer.square_avg.value.weight"));
  EXPECT_THAT(file.Shape("fc1.weight"), ElementsAre(3u, 5u));
  // fc1.bias starts at float 16, behind the gap.
  EXPECT_THAT(file.F32("fc1.bias"), ElementsAre(16.5f, 17.5f, 18.5f, 19.5f, 20.5f));
}

TEST(Checkpoint, TheSameRunWritesTheSameBytes) {
  TempDir dir;
  const auto first = WriteCheckpoint(dir / "a", MakeCheckpoint(2, 9));
  const auto second = WriteCheckpoint(dir / "b", MakeCheckpoint(2, 9));
  EXPECT_EQ(ReadFile(first), ReadFile(second));
}

TEST(Checkpoint, ASafetensorsFileThatIsNoneIsRefusedWithASentence) {
  TempDir dir;
  const std::vector<float> data(4, 1);
  const auto refusal = [&](std::vector<TensorView> tensors,
                           const std::map<std::string, std::string>& metadata) -> std::string {
    WriteSafetensors(dir / "file.safetensors", tensors, metadata);
    try {
      ReadCheckpoint(dir / "file.safetensors");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, {}), HasSubstr("it has no \"format\""));
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, {{"format", "x"}}), HasSubstr("has the format"));
  std::map<std::string, std::string> metadata = {
      {"format", "starling.checkpoint.1"}, {"term", "1"}, {"version", "-2"}};
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("not a number"));
  metadata.insert({{"steps", "1"}, {"optimizer_step", "1"}, {"journal_offset", "0"}});
  metadata["version"] = "2";
  metadata["fingerprint"] = "00000000000000ff";
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("fingerprint"));
  EXPECT_THAT(refusal({ViewF32("w", {0, 4}, {})}, metadata), HasSubstr("dimension of 0"));
  metadata["term"] = "4294967296";
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("term"));
}

TEST(LastGood, IsNothingWithoutCheckpoints) {
  TempDir dir;
  EXPECT_FALSE(LastGood(dir.path()).checkpoint);
  EXPECT_FALSE(LastGood(dir / "missing").checkpoint);
  EXPECT_THAT(ListCheckpoints(dir / "missing"), IsEmpty());
}

TEST(LastGood, IsTheNewestByTermThenVersionAsNumbers) {
  TempDir dir;
  for (const auto& [term, version] : {std::pair<std::uint32_t, std::uint64_t>{2, 900},
                                      {1, 1000},
                                      {10'000, 5},
                                      {2, 1'000'000'000'000'000}}) {
    WriteCheckpoint(dir.path(), MakeCheckpoint(term, version));
  }
  dir.Write("term", "10000\n");
  dir.Write("t0003-v12.txt", "");
  std::vector<std::string> names;
  for (const auto& path : ListCheckpoints(dir.path())) names.push_back(path.filename());
  EXPECT_THAT(names,
              ElementsAre(CheckpointName(1, 1000), CheckpointName(2, 900),
                          CheckpointName(2, 1'000'000'000'000'000), CheckpointName(10'000, 5)));
  EXPECT_EQ(LastGood(dir.path()).checkpoint->term, 10'000u);
}

// The newest of three holds `content`: it is refused, the one before is used, both are named.
void ExpectFallsBack(const TempDir& dir, const std::filesystem::path& newest,
                     std::string_view content) {
  dir.Write(newest.filename().string(), content);
  const LastGoodResult result = LastGood(dir.path());
  ASSERT_TRUE(result.checkpoint);
  EXPECT_EQ(result.checkpoint->version, 20u);
  EXPECT_EQ(result.path.filename(), CheckpointName(1, 20));
  EXPECT_THAT(result.rejected, ElementsAre(HasSubstr(newest.string())));
}

std::filesystem::path WriteThree(const TempDir& dir) {
  std::filesystem::path newest;
  for (const std::uint64_t version : {10, 20, 30}) {
    newest = WriteCheckpoint(dir.path(), MakeCheckpoint(1, version, 1));
  }
  return newest;
}

TEST(LastGood, OfATruncatedNewestIsTheOneBeforeWhateverItsLength) {
  TempDir dir;
  const auto newest = WriteThree(dir);
  const std::string bytes = ReadFile(newest);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ExpectFallsBack(dir, newest, std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(testing::Test::HasFailure()) << size;
  }
  ExpectFallsBack(dir, newest, bytes + '\0');
}

TEST(LastGood, OfANewestWithAFlippedBitIsTheOneBeforeWhicheverTheByte) {
  TempDir dir;
  const auto newest = WriteThree(dir);
  const std::string bytes = ReadFile(newest);
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string flipped = bytes;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << byte % 8));  // each bit has its turn
    ExpectFallsBack(dir, newest, flipped);
    ASSERT_FALSE(testing::Test::HasFailure()) << byte;
  }
}

TEST(LastGood, NamesEveryDamagedOneNewestFirst) {
  TempDir dir;
  for (const std::uint64_t version : {10, 20, 30}) {
    WriteCheckpoint(dir.path(), MakeCheckpoint(1, version));
  }
  for (const std::uint64_t version : {20, 30}) dir.Write(CheckpointName(1, version), "damaged");
  EXPECT_THAT(LastGood(dir.path()).rejected,
              ElementsAre(HasSubstr(CheckpointName(1, 30)), HasSubstr(CheckpointName(1, 20))));
  EXPECT_EQ(LastGood(dir.path()).checkpoint->version, 10u);
  dir.Write(CheckpointName(1, 10), "damaged");
  EXPECT_FALSE(LastGood(dir.path()).checkpoint);
  EXPECT_EQ(LastGood(dir.path()).rejected.size(), 3u);
}

TEST(Checkpoint, AWriterKilledInTheMiddleLeavesNoPartialFileUnderTheFinalName) {
  TempDir dir;
  WriteCheckpoint(dir.path(), MakeCheckpoint(1, 0));
  const Checkpoint big = MakeCheckpoint(1, 7, 20'000);  // half a megabyte
  for (int round = 0; round < 30; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const char byte = 0;
      if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
      for (std::uint32_t term = 2;; ++term) {
        Checkpoint next = big;
        next.term = 2 + (term % 4);
        WriteCheckpoint(dir.path(), next);
      }
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    // Somewhere in its work, at another place in each round.
    for (int i = 0; i < 40 * round; ++i) std::this_thread::yield();
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(ready[0]);
    ::close(ready[1]);
    for (const auto& path : ListCheckpoints(dir.path())) {
      ASSERT_NO_THROW(ReadCheckpoint(path)) << path;
    }
  }
  // What a killed writer left beside them goes with the next pruning.
  dir.Write(CheckpointName(9, 9) + ".123.0.tmp", "half");
  Prune(dir.path(), 1);
  EXPECT_EQ(dir.CountFiles(), 1u);
}

TEST(Prune, KeepsTheNewest) {
  TempDir dir;
  for (std::uint64_t version = 0; version < 6; ++version) {
    WriteCheckpoint(dir.path(), MakeCheckpoint(1, version));
  }
  dir.Write("term", "1\n");
  EXPECT_EQ(Prune(dir.path(), 2).size(), 4u);
  EXPECT_THAT(ListCheckpoints(dir.path()),
              ElementsAre(dir / CheckpointName(1, 4), dir / CheckpointName(1, 5)));
  EXPECT_THAT(Prune(dir.path(), 2), IsEmpty());
  EXPECT_THAT(Prune(dir.path(), 9), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(dir / "term"));
}

TEST(Prune, NeverRemovesTheNewestGoodOne) {
  TempDir dir;
  for (std::uint64_t version = 0; version < 5; ++version) {
    WriteCheckpoint(dir.path(), MakeCheckpoint(1, version));
  }
  for (const std::uint64_t version : {2, 3, 4}) dir.Write(CheckpointName(1, version), "damaged");
  Prune(dir.path(), 1);
  EXPECT_THAT(ListCheckpoints(dir.path()),
              ElementsAre(dir / CheckpointName(1, 1), dir / CheckpointName(1, 4)));
  EXPECT_EQ(LastGood(dir.path()).checkpoint->version, 1u);
}

TEST(OpenTerm, GrowsWithEveryCall) {
  TempDir dir;
  const auto checkpoints = dir / "checkpoints";
  EXPECT_EQ(OpenTerm(checkpoints), 1u);
  EXPECT_EQ(OpenTerm(checkpoints), 2u);
  EXPECT_EQ(OpenTerm(checkpoints, 2), 3u);
  EXPECT_EQ(OpenTerm(checkpoints, 10), 10u);
  EXPECT_EQ(OpenTerm(checkpoints, 3), 11u);
  EXPECT_EQ(OpenTerm(checkpoints, 0), 12u);
  EXPECT_EQ(ReadFile(checkpoints / "term"), "12\n");
}

TEST(OpenTerm, NamesAFileThatHoldsNoNumber) {
  TempDir dir;
  for (const char* content : {"", "twelve\n", "-1\n", "12 13\n", "4294967295\n"}) {
    const auto path = dir.Write("term", content);
    try {
      OpenTerm(dir.path());
      ADD_FAILURE() << content;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
    }
    EXPECT_EQ(ReadFile(path), content);
  }
}

TEST(CheckpointWriter, WritesInOrderAndPrunes) {
  TempDir dir;
  std::atomic<int> called{0};
  CheckpointWriter writer(dir.path(), 2, [&] {
    ++called;
    called.notify_one();
  });
  for (int version = 0; version < 5; ++version) {
    auto checkpoint =
        std::make_shared<Checkpoint>(MakeCheckpoint(1, static_cast<std::uint64_t>(version)));
    ASSERT_TRUE(writer.Submit(checkpoint));
    called.wait(version);
    const auto result = writer.Poll();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->error, "");
    EXPECT_EQ(result->version, static_cast<std::uint64_t>(version));
    EXPECT_EQ(result->path, dir / CheckpointName(1, result->version));
    EXPECT_FALSE(writer.Poll());
    EXPECT_EQ(writer.pending(), 0u);
  }
  EXPECT_THAT(ListCheckpoints(dir.path()),
              ElementsAre(dir / CheckpointName(1, 3), dir / CheckpointName(1, 4)));
}

TEST(CheckpointWriter, FinishLeavesEverythingTakenOnTheDisk) {
  for (int round = 0; round < 20; ++round) {
    TempDir dir;
    CheckpointWriter writer(dir.path(), 9);
    std::size_t taken = 0;
    for (std::uint64_t version = 0; version < 4; ++version) {
      taken += writer.Submit(std::make_shared<Checkpoint>(MakeCheckpoint(1, version)));
    }
    EXPECT_GE(taken, 1u);
    writer.Finish();
    EXPECT_EQ(ListCheckpoints(dir.path()).size(), taken);
    EXPECT_EQ(writer.pending(), 0u);
    EXPECT_FALSE(writer.Submit(std::make_shared<Checkpoint>(MakeCheckpoint(1, 9))));
    while (writer.Poll()) --taken;
    EXPECT_EQ(taken, 0u);
  }
}

// The network thread must not wait: with one being written and one waiting, the next is refused.
TEST(CheckpointWriter, RefusesAThirdWhileItIsBusy) {
  TempDir dir;
  std::atomic<bool> entered{false}, go_on{false};
  CheckpointWriter writer(dir.path(), 9, [&] {
    entered = true;
    entered.notify_one();
    go_on.wait(false);
  });
  const auto checkpoint = [](std::uint64_t version) {
    return std::make_shared<Checkpoint>(MakeCheckpoint(1, version));
  };
  ASSERT_TRUE(writer.Submit(checkpoint(1)));
  entered.wait(false);  // the writing thread stands in its call-back
  EXPECT_TRUE(writer.Submit(checkpoint(2)));
  EXPECT_FALSE(writer.Submit(checkpoint(3)));
  EXPECT_EQ(writer.pending(), 1u);
  go_on = true;
  go_on.notify_one();
  writer.Finish();
  EXPECT_EQ(ListCheckpoints(dir.path()).size(), 2u);
}

// A disk that is full part of the way through: the file size limit stands in for it.
TEST(CheckpointWriter, AFailedWriteIsReportedAndTheOldCheckpointsStay) {
  TempDir dir;
  WriteCheckpoint(dir.path(), MakeCheckpoint(1, 1));
  CheckpointWriter writer(dir.path(), 1);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { .rlim_cur = 4096, .rlim_max = before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  writer.Submit(std::make_shared<Checkpoint>(MakeCheckpoint(1, 2, 1000)));
  writer.Finish();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);

  const auto result = writer.Poll();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->path.empty());
  EXPECT_THAT(result->error, HasSubstr(CheckpointName(1, 2)));
  EXPECT_EQ(result->version, 2u);
  EXPECT_EQ(LastGood(dir.path()).checkpoint->version, 1u);
  EXPECT_EQ(dir.CountFiles(), 1u);
}

}  // namespace
}  // namespace starling::learner
