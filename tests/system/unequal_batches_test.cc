// Actors of one fleet with different numbers of environments, as in
// docs/spectrum/unequal-batches.md.
#include <sstream>

#include "core/file.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kSourceRoot = STARLING_SOURCE_DIR;

class UnequalBatchesTest : public RunTest {
 protected:
  // The words of the page's commands, in order.
  static std::vector<Strings> Commands() {
    std::istringstream page(ReadFile(kSourceRoot / "docs/spectrum/unequal-batches.md"));
    std::vector<Strings> commands;
    bool shell = false;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("```")) {
        shell = line == "```sh";
      } else if (shell) {
        std::istringstream words(line.substr(0, line.find('#')));
        commands.emplace_back();
        for (std::string word; words >> word;) commands.back().push_back(word);
      }
    }
    return commands;
  }
  // Starts the command of a script in this test's directory, with further arguments.
  std::unique_ptr<Process> StartAsWritten(Strings words, const Strings& more = {}) {
    std::string program = std::filesystem::path(words[0]).filename();
    words.erase(words.begin());
    if (program == "launch-learner") {
      program = "starling-learner";
      words[0] = kSourceRoot / words[0];
    } else if (program == "launch-actors") {
      program = "starling-actor";
      EXPECT_EQ(words[0], "1");
      words.erase(words.begin());
    }
    for (std::string& word : words) {
      if (word == "runs/unequal") word = run().string();
    }
    return Start(program, Plus(words, more));
  }
};

TEST_F(UnequalBatchesTest, TheCommandsOfThePage) {
  const std::vector<Strings> commands = Commands();
  ASSERT_EQ(commands.size(), 5u);
  auto learner = StartAsWritten(
      commands[0], {"--set", "wire.runtime_dir=" + runtime().string(), "--set", "run.steps=16000",
                    "--set", "learner.hash_every=10", "--set", "wire.timeout_s=600"});
  auto small = StartAsWritten(commands[1], {"--runtime-dir", runtime().string()});
  auto large = StartAsWritten(commands[2], {"--runtime-dir", runtime().string()});
  ExpectAllEnd(learner, small, large);
  EXPECT_THAT(small->err(), HasSubstr("slot 0, incarnation 65536: 8 envs x 5 steps an unroll"));
  EXPECT_THAT(large->err(), HasSubstr("slot 1, incarnation 65536: 24 envs x 5 steps an unroll"));

  const json summary = Summary();
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["updates"], 100);  // (8 + 24) x 5 = 160 samples each
  EXPECT_EQ(summary["steps"], 16'000);
  EXPECT_EQ(summary["gradients"]["merged"], 200);
  EXPECT_EQ(summary["staleness"]["max"], 0);
  ExpectFinalCheckpoint(summary);

  auto explain = StartAsWritten(commands[3]);
  EXPECT_EQ(WaitFor(*explain), 0) << said_;
  EXPECT_THAT(explain->out(), HasSubstr("version 100: 2 gradients, 16,000 steps after it"));
  EXPECT_THAT(explain->out(), ContainsRegex("\n +0 +1\\.0 +[0-9]+ +99 +0 +40 +0\\.2500 "));
  EXPECT_THAT(explain->out(), ContainsRegex("\n +1 +1\\.0 +[0-9]+ +99 +0 +120 +0\\.7500 "));
  auto replay = StartAsWritten(commands[4]);
  EXPECT_EQ(WaitFor(*replay), 0) << said_;
  EXPECT_THAT(replay->out(),
              ContainsRegex("replayed 100 versions .*: 11 hashes agree, .* bit for"));
  ExpectNothingLeft();
}

TEST_F(UnequalBatchesTest, WrongNumbersAreRefusedBeforeALearnerIsLookedFor) {
  for (const char* wrong : {"0", "65537", "eight", ""}) {
    auto actor = Start("starling-actor", {"--run-dir", run().string(), "--envs", wrong});
    EXPECT_EQ(WaitFor(*actor), 2) << wrong;
    EXPECT_THAT(actor->err(),
                HasSubstr(fmt::format("--envs: \"{}\" is not an integer from 1 to 65536", wrong)));
  }
  auto evaluator =
      Start("starling-actor", {"--run-dir", run().string(), "--evaluate", "--envs", "8"});
  EXPECT_EQ(WaitFor(*evaluator), 2);
  EXPECT_THAT(evaluator->err(), HasSubstr("--envs excludes --evaluate"));
}

// The actor knows the unroll only from the welcome; the fleet does not wait for it afterwards.
TEST_F(UnequalBatchesTest, MoreSamplesThanAGradientMayHaveAreRefused) {
  auto learner = StartLearner({"run.steps=1000", "actors.count=2", "actors.unroll=100",
                               "actors.envs_per_actor=1", "wire.timeout_s=3600"});
  auto greedy = StartActor({"--envs", "10001"});
  EXPECT_EQ(WaitFor(*greedy), 2);
  EXPECT_THAT(greedy->err(),
              HasSubstr("--envs 10001 contradicts actors.unroll = 100 of the run: their product, "
                        "the samples of one unroll, may be at most 1000000"));
  auto one = StartActor(), other = StartActor({"--envs", "2"});
  ExpectAllEnd(learner, one, other);
  EXPECT_THAT(learner->err(), HasSubstr("said goodbye"));
  EXPECT_THAT(learner->err(), Not(HasSubstr("refused a gradient")));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace starling
