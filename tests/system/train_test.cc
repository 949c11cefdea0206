// `starling train` from its start to its end, on every kind of wire and with the dials turned.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class TrainTest : public RunTest {
 protected:
  Strings Keys(const json& object) const {
    Strings keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    return keys;
  }
  json Eval(const std::filesystem::path& target) {
    auto eval = Start("starling", {"eval", target.string(), "--episodes", "20", "--json"});
    EXPECT_EQ(WaitFor(*eval), 0) << said_;
    return json::parse(eval->out(), nullptr, false);
  }
};

TEST_F(TrainTest, ARunLeavesBehindWhatIsPromisedAndNothingElse) {
  auto train = StartTrain({"run.steps=60000", "actors.count=2", "checkpoint.every_steps=20000"});
  ExpectDone(WaitFor(*train), 60'000);

  const json summary = Summary();
  EXPECT_THAT(Keys(summary),
              UnorderedElementsAre("env", "seed", "steps", "frames", "updates", "seconds",
                                   "steps_per_second", "mean_return", "episodes", "staleness",
                                   "gradients", "actors", "learner", "envs", "exact", "time",
                                   "bottleneck", "error", "final_checkpoint", "instructions"));
  EXPECT_THAT(summary["bottleneck"], testing::HasSubstr("compute"));  // 60,000 real steps
  EXPECT_THAT(Keys(summary["staleness"]),
              UnorderedElementsAre("bound", "max", "mean", "histogram"));
  EXPECT_THAT(Keys(summary["gradients"]),
              UnorderedElementsAre("received", "applied", "merged", "in_flight", "dropped"));
  EXPECT_THAT(Keys(summary["actors"]), UnorderedElementsAre("started", "restarted"));
  EXPECT_THAT(Keys(summary["learner"]), ElementsAre("restarted"));
  EXPECT_EQ(summary["envs"], json({{"replaced", 0}, {"episodes_cut", 0}}));
  EXPECT_EQ(summary["env"], "catch");
  EXPECT_EQ(summary["seed"], 1);
  EXPECT_EQ(summary["actors"], json({{"started", 2}, {"restarted", 0}}));
  EXPECT_EQ(summary["learner"], json({{"restarted", 0}}));
  EXPECT_GT(summary["episodes"], 0);
  EXPECT_TRUE(summary["mean_return"].is_number());

  EXPECT_EQ(Checkpoints().size(), 3u);  // checkpoint.keep
  for (const char* name :
       {"config.toml", "metrics.jsonl", "journal/t0001-s000000", "log", "summary.json"}) {
    EXPECT_GT(std::filesystem::file_size(run() / name), 0u) << name;
  }
  std::ifstream metrics(run() / "metrics.jsonl");
  json last;
  for (std::string line; std::getline(metrics, line);) {
    last = json::parse(line, nullptr, false);
    EXPECT_TRUE(last.is_object()) << line;
  }
  EXPECT_EQ(last["steps"], summary["steps"]);
  EXPECT_THAT(said_, HasSubstr("done in"));
  EXPECT_EQ(train->out(), "");  // that is for results
  EXPECT_EQ(said_.find_first_of("\r\x1b"), std::string::npos) << "a terminal is not assumed";
}

TEST_F(TrainTest, TheRunAndItsFinalCheckpointCanBeEvaluated) {
  ASSERT_EQ(Train({"run.steps=20000", "actors.count=1"}), 0) << said_;
  const json of_run = Eval(run());
  EXPECT_THAT(Keys(of_run), UnorderedElementsAre("mean_return", "std", "episodes", "greedy"));
  EXPECT_EQ(of_run["episodes"], 20);
  const std::string name = Summary()["final_checkpoint"];
  EXPECT_EQ(Eval(run() / name), of_run);  // the same weights and episodes
}

TEST_F(TrainTest, OverASocketFileOfOnesOwn) {
  const std::filesystem::path socket = dir_ / "mine.sock";
  ExpectDone(Train({"run.steps=20000", "actors.count=2", "wire.endpoint=ipc://" + socket.string()}),
             20'000);
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(TrainTest, BreakoutWithItsConvolution) {
  Strings words = TrainWords({"run.steps=6400", "actors.count=2"});
  words[1] = std::string(STARLING_SOURCE_DIR) + "/configs/breakout.toml";
  EXPECT_EQ(WaitFor(*Start("starling", words)), 0) << said_;
  EXPECT_EQ(Summary()["env"], "minatar/breakout");
  EXPECT_GE(Summary()["steps"], 6400);
  ExpectNothingLeft();
}

TEST_F(TrainTest, WithoutAGpuAutoGoesOnWithTheProcessorAndSaysSo) {
  auto train = StartTrain({"run.steps=20000", "actors.count=2", "actors.backend=auto"},
                          {"CUDA_VISIBLE_DEVICES="});
  ExpectDone(WaitFor(*train), 20'000);
  EXPECT_THAT(Log(), testing::HasSubstr("computing on the processor"));
}

TEST_F(TrainTest, TwoRunsShareAHost) {
  auto one = StartTrain({"run.steps=40000", "actors.count=2"});
  auto other = Start("starling", TrainWords({"run.steps=40000", "actors.count=2"}, "other"));
  EXPECT_EQ(WaitFor(*other), 0) << said_;
  ExpectDone(WaitFor(*one), 40'000);
}

}  // namespace
}  // namespace starling
