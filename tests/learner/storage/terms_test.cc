// Terms: each is claimed once, and what a learner writes after a later one has taken over does not
// count.
#include "learner/storage/terms.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "core/file.h"
#include "learner/storage/checkpoint.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class TermsTest : public testing::Test {
 protected:
  void Write(std::uint32_t term, std::uint64_t version) {
    WriteCheckpoint(dir_.path(), MakeCheckpoint(term, version));
  }
  std::vector<std::string> Listed() const {
    std::vector<std::string> names;
    for (const auto& path : ListCheckpoints(dir_.path())) names.push_back(path.filename());
    return names;
  }

  TempDir dir_;
};

TEST_F(TermsTest, EveryClaimIsNew) {
  const auto checkpoints = dir_ / "checkpoints";
  EXPECT_EQ(NewestTerm(checkpoints), 0u);
  EXPECT_EQ(ClaimTerm(checkpoints, std::nullopt), 1u);
  EXPECT_EQ(ClaimTerm(checkpoints, std::nullopt), 2u);
  EXPECT_EQ(ClaimTerm(checkpoints, CheckpointId{2, 30}), 3u);
  EXPECT_EQ(NewestTerm(checkpoints), 3u);
  EXPECT_EQ(ReadFile(checkpoints / "t0002.term"), "new\n");
  EXPECT_EQ(ReadFile(checkpoints / "t0003.term"), "t0002-v000000000030\n");
}

TEST_F(TermsTest, ItIsLargerThanThatOfAnyCheckpointAndOfOlderPrograms) {
  Write(5, 1);
  EXPECT_EQ(ClaimTerm(dir_.path(), CheckpointId{5, 1}), 6u);
  dir_.Write("term", "12\n");
  EXPECT_EQ(ClaimTerm(dir_.path(), CheckpointId{5, 1}), 13u);
  dir_.Write("term", "rubbish");
  EXPECT_EQ(ClaimTerm(dir_.path(), CheckpointId{5, 1}), 14u);
}

TEST_F(TermsTest, ManyLearnersAtOnceClaimDifferentOnes) {
  std::vector<std::uint32_t> claimed(8);
  {
    std::vector<std::jthread> learners;
    for (std::uint32_t& term : claimed) {
      learners.emplace_back([&] { term = ClaimTerm(dir_.path(), std::nullopt); });
    }
  }
  EXPECT_THAT(claimed, UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(TermsTest, WhatIsWrittenAfterALaterTermBeganDoesNotCount) {
  ClaimTerm(dir_.path(), std::nullopt);
  Write(1, 10), Write(1, 20);
  ClaimTerm(dir_.path(), CheckpointId{1, 10});
  EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10))) << "20 was left behind";
  Write(1, 30), Write(2, 15);
  EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10), CheckpointName(2, 15)));
  // A third begins behind the first: the second is left behind, too.
  ClaimTerm(dir_.path(), CheckpointId{1, 10});
  EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10)));
  Prune(dir_.path(), 5);
  EXPECT_EQ(std::filesystem::exists(dir_ / CheckpointName(2, 15)), false);
}

TEST_F(TermsTest, ANewRunCountsNoneBeforeIt) {
  Write(1, 10);
  ClaimTerm(dir_.path(), std::nullopt);
  EXPECT_THAT(Listed(), ElementsAre());
}

TEST_F(TermsTest, TermsOfOlderProgramsCountUpToTheFirstClaim) {
  Write(1, 10), Write(2, 20), Write(2, 30), Write(3, 40);
  EXPECT_EQ(Listed().size(), 4u);
  ClaimTerm(dir_.path(), CheckpointId{2, 20});
  EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10), CheckpointName(2, 20)));
}

TEST_F(TermsTest, WithoutAnyClaimOrCheckpointAllCount) {
  EXPECT_TRUE(RunLine(dir_.path()).Holds({1, 10}));
}

TEST_F(TermsTest, AClaimThatWasNotFinishedIsPassedOver) {
  ClaimTerm(dir_.path(), std::nullopt);
  Write(1, 10);
  dir_.Write("t0002.term", "");
  EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10)));
  EXPECT_EQ(RunLine(dir_.path()).damaged(), "");
  EXPECT_EQ(ClaimTerm(dir_.path(), CheckpointId{1, 10}), 3u);
}

TEST_F(TermsTest, AClaimThatAFullDiskRefusesLeavesNoFile) {
  ClaimTerm(dir_.path(), std::nullopt);
  {
    const FileSizeLimit full(0);
    EXPECT_THROW(ClaimTerm(dir_.path(), CheckpointId{1, 10}), std::system_error);
  }
  EXPECT_FALSE(std::filesystem::exists(dir_ / "t0002.term"));
}

// A claim without a word wrote nothing; where its term has checkpoints, the word was lost.
TEST_F(TermsTest, AnEmptyClaimBesideItsCheckpointsIsDamaged) {
  ClaimTerm(dir_.path(), std::nullopt);
  Write(1, 10);
  const auto path = dir_.Write("t0001.term", "");
  EXPECT_THAT(RunLine(dir_.path()).damaged(), HasSubstr(path.string()));
}

TEST_F(TermsTest, ADamagedClaimIsReported) {
  ClaimTerm(dir_.path(), std::nullopt);
  Write(1, 10);
  for (const char* content : {"t0001", "new", "t0009-v000000000001\n", "\n"}) {
    const auto path = dir_.Write("t0002.term", content);
    EXPECT_THAT(RunLine(dir_.path()).damaged(), HasSubstr(path.string())) << content;
    EXPECT_THAT(Listed(), ElementsAre(CheckpointName(1, 10)));
  }
  std::filesystem::remove(dir_ / "t0002.term");
  std::filesystem::create_directory(dir_ / "t0002.term");
  EXPECT_THAT(RunLine(dir_.path()).damaged(), HasSubstr("t0002.term is damaged"));
}

}  // namespace
}  // namespace starling::learner
