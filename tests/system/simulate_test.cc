// `starling simulate` as a command: its files, and other commands on its run directory.
#include "core/file.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class SimulateTest : public RunTest {
 protected:
  Strings SimulateWords(const Strings& settings, const std::string& name = "run") const {
    Strings words = TrainWords(settings, name);
    words.front() = "simulate";
    return words;
  }
  int Simulate(const Strings& settings, const Strings& more = {}) {
    return WaitFor(*Start("starling", Plus(SimulateWords(settings), more)));
  }
  int Call(const Strings& words) {
    called_ = Start("starling", words);
    return WaitFor(*called_);
  }
  std::unique_ptr<Process> called_;
};

TEST_F(SimulateTest, LeavesARunBehind) {
  ASSERT_EQ(Simulate({"run.steps=24000", "actors.count=20", "staleness.bound=4",
                      "updates.gradients=auto"}),
            0)
      << said_;
  EXPECT_THAT(said_, HasSubstr("simulating catch in "));
  EXPECT_THAT(said_, HasSubstr("20 actors, 24,000 steps, in "));
  EXPECT_THAT(said_, ContainsRegex("simulated [0-9.e+-]+ s in [0-9.e+-]+ s"));
  EXPECT_THAT(said_, HasSubstr("done in 0:00: "));
  ExpectDone(0, 24'000);
  const json summary = Summary();
  EXPECT_EQ(summary["simulated"], true);
  EXPECT_EQ(summary["actors"]["started"], 20);
  EXPECT_NEAR(summary["steps_per_second"].get<double>(),
              summary["steps"].get<double>() / summary["seconds"].get<double>(), 1e-6);
  EXPECT_TRUE(std::filesystem::exists(run() / "tensorboard"));

  EXPECT_EQ(Call({"replay", run().string()}), 0) << said_;
  EXPECT_THAT(called_->out(), HasSubstr("bit for bit"));
  EXPECT_EQ(Call({"eval", run().string(), "--episodes", "5", "--json"}), 0);
  EXPECT_EQ(Call({"report", run().string(), "--out", (dir_ / "report.html").string()}), 0);
  EXPECT_THAT(ReadFile(dir_ / "report.html"), HasSubstr("finished, virtual time"));
  EXPECT_EQ(Simulate({"run.steps=1600"}), 2);
  EXPECT_THAT(said_, HasSubstr("is not empty"));
  EXPECT_EQ(Call(ResumeWords({"run.steps=48000"})), 2);
  EXPECT_THAT(said_, HasSubstr("it was simulated, and there is no fleet to go on with"));
}

TEST_F(SimulateTest, MistakesAreSaidAndNothingIsMade) {
  EXPECT_EQ(Simulate({"simulate.compute_ms=0", "simulate.straggler=1", "simulate.spread=2"}), 2);
  EXPECT_THAT(said_, HasSubstr("--set simulate.compute_ms"));
  EXPECT_THAT(said_, HasSubstr("did you mean \"stragglers\"?"));
  EXPECT_EQ(Simulate({"eval.every_steps=100"}), 2);
  EXPECT_THAT(said_, HasSubstr("eval.every_steps = 100 cannot be simulated"));
  EXPECT_EQ(Simulate({}, {"--times-from", (dir_ / "nowhere").string()}), 2);
  EXPECT_THAT(said_, HasSubstr("it has no config.toml: not a run"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(SimulateTest, InterruptedItLeavesASummary) {
  auto simulate =
      Start("starling",
            SimulateWords({Steps(kEndless), "actors.count=3", "checkpoint.every_steps=8000"}));
  ASSERT_TRUE(AwaitCheckpoint(*simulate));
  simulate->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*simulate), 130);
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_EQ(summary["simulated"], true);
  EXPECT_GT(summary["steps"], 0);
  ExpectFinalCheckpoint(summary);
  EXPECT_THAT(said_, Not(HasSubstr("--resume")));
  // Whatever becomes of its summary, it is no run of real actors.
  std::filesystem::remove(run() / "summary.json");
  EXPECT_EQ(Call({"train", "--resume", run().string()}), 2);
  EXPECT_THAT(said_, HasSubstr("it was simulated, and there is no fleet to go on with"));
  EXPECT_EQ(Call({"replay", run().string()}), 0) << said_;
}

// A real run's times are found in it, and used.
TEST_F(SimulateTest, TakesTheTimesOfARealRun) {
  ASSERT_EQ(Train({"run.steps=24000", "actors.count=1", "updates.in_flight=1"}), 0) << said_;
  const Strings words =
      SimulateWords({"run.steps=24000", "actors.count=4", "simulate.apply_ms=0.25"}, "simulated");
  ASSERT_EQ(Call(Plus(words, {"--times-from", run().string()})), 0) << said_;
  EXPECT_THAT(said_, ContainsRegex("milliseconds, as in .*: compute_ms [0-9.e-]+, refresh_ms "));
  const std::string config = ReadFile(dir_ / "simulated" / "config.toml");
  EXPECT_THAT(config, HasSubstr("apply_ms = 0.25")) << "--set goes before";
  EXPECT_THAT(config, Not(HasSubstr("compute_ms = 3.0\n")));
}

}  // namespace
}  // namespace starling
