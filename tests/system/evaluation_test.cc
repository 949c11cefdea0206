// Evaluation while training goes on.
#include "learner/storage/checkpoint.h"
#include "results/eval_results.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using results::EvalLine;
using testing::HasSubstr;

class EvaluationTest : public RunTest {
 protected:
  std::vector<EvalLine> Lines() const { return results::ReadEvalLines(run()); }
  bool AwaitLines(Process& train, std::size_t count) {
    return Eventually([&] { return Lines().size() >= count || !train.Running(); }) &&
           train.Running();
  }
  pid_t EvaluatorPid() const {
    for (const Running& process : Find("starling-actor")) {
      if (std::ranges::count(process.arguments, "--evaluate") > 0) return process.pid;
    }
    return 0;
  }
  static std::string NicenessOf(pid_t pid) {
    const std::string stat = TextOf("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string field;
    for (int i = 3; i <= 19; ++i) fields >> field;
    return field;
  }
  // As fast as it can, without end.
  Strings Endless() const {
    return {Steps(kEndless),   "checkpoint.every_steps=16000",
            "actors.count=1",  "eval.every_steps=1",
            "eval.episodes=2", "loss.entropy_end=0.03"};
  }
  void ExpectBestIsTheBestOf(const std::vector<EvalLine>& lines) const {
    const auto best = std::ranges::max_element(lines, {}, &EvalLine::mean_return);
    const learner::Checkpoint saved = learner::ReadCheckpoint(results::BestPath(run()));
    EXPECT_EQ(saved.version, best->version);
    EXPECT_EQ(saved.steps, best->steps);
    const json summary = Summary()["eval"];
    EXPECT_EQ(summary["best"]["mean_return"], best->mean_return);
    EXPECT_EQ(summary["last"]["version"], lines.back().version);
  }
};

TEST_F(EvaluationTest, ARunLeavesItsResultsAndItsBestWeights) {
  const Strings settings = {"run.steps=160000", "actors.count=2", "eval.every_steps=40000",
                            "eval.episodes=20"};
  ExpectDone(Train(settings), 160'000);
  const auto lines = Lines();
  ASSERT_GE(lines.size(), 1u);
  EXPECT_LE(lines.size(), 5u) << "one for each multiple, and the end";
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_LT(lines[i - 1].age(), lines[i].age());
  EXPECT_EQ(lines.back().version, Summary()["updates"]) << "the weights at the end";
  ExpectBestIsTheBestOf(lines);
  EXPECT_THAT(said_, HasSubstr("  best        " + results::BestPath(run()).string()));
  EXPECT_EQ(Summary()["actors"], json({{"started", 2}, {"restarted", 0}}));
  EXPECT_FALSE(std::filesystem::is_empty(run() / "tensorboard/eval"));

  // Anybody can have the same episodes again, with the seed of the run + the version.
  const json best = Summary()["eval"]["best"];
  const std::string seed = std::to_string(1 + best["version"].get<std::uint64_t>());
  auto eval = Start(
      "starling", {"eval", results::BestPath(run()), "--episodes", "20", "--seed", seed, "--json"});
  ASSERT_EQ(WaitFor(*eval), 0) << said_;
  const json again = json::parse(eval->out());
  EXPECT_EQ(again["mean_return"], best["mean_return"]);
  EXPECT_EQ(again["std"], best["std"]);
  EXPECT_EQ(WaitFor(*Start("starling", {"record", results::BestPath(run()), "--out", "best.png"})),
            0);

  // Gone on with, it goes on with the lines and the best.
  ExpectDone(WaitFor(*Start("starling", ResumeWords({"run.steps=200000"}))), 200'000);
  const auto more = Lines();
  ASSERT_GT(more.size(), lines.size());
  EXPECT_TRUE(std::equal(lines.begin(), lines.end(), more.begin()));
  ExpectBestIsTheBestOf(more);
}

TEST_F(EvaluationTest, AKilledEvaluatorCostsNothingAndCtrlCDoesNotWaitForIt) {
  auto train = StartTrain(Endless());
  ASSERT_TRUE(AwaitLines(*train, 1)) << train->err();
  const pid_t before = EvaluatorPid();
  ASSERT_NE(before, 0);
  EXPECT_EQ(NicenessOf(before), "19");
  kill(before, SIGKILL);
  const std::size_t lines = Lines().size();
  ASSERT_TRUE(AwaitLines(*train, lines + 2)) << "one may have been on its way";
  const pid_t after = EvaluatorPid();
  ASSERT_NE(after, 0);
  EXPECT_NE(after, before);
  kill(after, SIGSTOP);  // not even one that hears nothing holds the end up
  const json summary = Interrupt(*train);
  ExpectFinalCheckpoint(summary);
  EXPECT_EQ(summary["actors"], json({{"started", 1}, {"restarted", 0}}));
  EXPECT_TRUE(summary["eval"]["last"].is_object());
  EXPECT_THAT(said_, testing::Not(HasSubstr("evaluator")));
}

TEST_F(EvaluationTest, CtrlCDuringTheLastEvaluationLeavesARunThatIsDone) {
  auto train = StartTrain(
      {"run.steps=16000", "actors.count=1", "eval.every_steps=1000000", "eval.episodes=10000000"});
  ASSERT_TRUE(AwaitSaid(*train, "still being evaluated"));
  train->Signal(SIGINT);
  ExpectDone(WaitFor(*train), 16'000);
  EXPECT_EQ(Summary()["eval"], json({{"best", nullptr}, {"last", nullptr}}));
}

}  // namespace
}  // namespace starling
