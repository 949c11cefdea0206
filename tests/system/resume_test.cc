// Going on with a run: from the newest checkpoint that is good, or not at all.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class ResumeTest : public RunTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Train({"run.steps=32000", "checkpoint.every_steps=8000", "actors.count=2"}), 0)
        << said_;
    ASSERT_GE(Checkpoints().size(), 2u);
  }
  std::filesystem::path CheckpointFromEnd(std::size_t back) const {
    const auto names = Checkpoints();
    return run() / "checkpoints" / names[names.size() - 1 - back];
  }
  int Resume(const Strings& settings) { return WaitFor(*Start("starling", ResumeWords(settings))); }
};

TEST_F(ResumeTest, ACompleteRunIsLeftAlone) {
  const std::string before = TextOf(run() / "summary.json");
  EXPECT_EQ(Resume({}), 0);
  EXPECT_THAT(said_, HasSubstr("is complete"));
  EXPECT_THAT(said_, HasSubstr("run.steps"));
  EXPECT_EQ(TextOf(run() / "summary.json"), before);
}

TEST_F(ResumeTest, MoreStepsContinueTheCounters) {
  const json before = Summary();
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  const json after = Summary();
  EXPECT_GT(after["updates"], before["updates"]);
  EXPECT_GT(after["gradients"]["applied"], before["gradients"]["applied"]);
  EXPECT_THAT(Checkpoints().back(), HasSubstr("t0002-"));
}

TEST_F(ResumeTest, ATruncatedCheckpointIsPassedOverAndBothAreNamed) {
  const auto newest = CheckpointFromEnd(0), before = CheckpointFromEnd(1);
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  EXPECT_THAT(Log(), HasSubstr(newest.string()));
  EXPECT_THAT(Log(), HasSubstr("resuming from " + before.string()));
  EXPECT_THAT(said_, HasSubstr(newest.filename().string()));  // the operator sees it, too
}

TEST_F(ResumeTest, AFlippedBitIsFound) {
  const auto newest = CheckpointFromEnd(0), before = CheckpointFromEnd(1);
  std::string bytes = TextOf(newest);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(newest, std::ios::binary) << bytes;
  ExpectDone(Resume({"run.steps=48000"}), 48'000);
  EXPECT_THAT(Log(), HasSubstr(newest.string()));
  EXPECT_THAT(Log(), HasSubstr("resuming from " + before.string()));
}

TEST_F(ResumeTest, WithoutAnyGoodCheckpointItIsRefused) {
  for (const std::string& name : Checkpoints()) {
    std::filesystem::resize_file(run() / "checkpoints" / name, 100);
  }
  EXPECT_EQ(Resume({"run.steps=48000"}), 2);
  EXPECT_THAT(said_, HasSubstr("no good checkpoint"));
  ExpectNothingLeft();
}

TEST_F(ResumeTest, AnotherNetIsRefused) {
  EXPECT_EQ(Resume({"run.steps=48000", "net.hidden=[32]"}), 2);
  EXPECT_THAT(said_, HasSubstr("holds another net"));
  ExpectNothingLeft();
}

TEST_F(ResumeTest, SecondTrainInTheSameDirectoryIsRefused) {
  auto first = Start("starling", ResumeWords({Steps(kEndless)}));
  ASSERT_TRUE(Eventually([&] { return LearnerPid() != 0; }));
  EXPECT_EQ(Resume({Steps(kEndless)}), 2);
  EXPECT_THAT(said_, HasSubstr("another starling train is running"));
  first->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*first), 130);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace starling
