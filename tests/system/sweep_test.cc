// A sweep of real runs, ended by Ctrl-C in its middle and gone on with; and the report on it.
#include "tests/support/html.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SweepTest : public RunTest {
 protected:
  // Two bounds and two seeds of catch.
  void WriteGrid(std::uint64_t steps, const std::string& seeds = "[1, 2]",
                 int episodes = 20) const {
    std::ofstream(dir_ / "bounds.toml")
        << "config = \"" << config_ << "\"\ndir = \"" << swept().string() << "\"\nseeds = " << seeds
        << "\neval_episodes = " << episodes << "\n[set]\nactors.count = 2\nrun.steps = " << steps
        << "\ncheckpoint.every_steps = 16000\nwire.runtime_dir = \"" << runtime().string()
        << "\"\n[grid]\nstaleness.bound = [0, \"unbounded\"]\n";
  }
  std::unique_ptr<Process> Sweep() { return Start("starling", {"sweep", "bounds.toml"}); }
  std::filesystem::path swept() const { return dir_ / "swept"; }
  json SweepJson() const { return json::parse(TextOf(swept() / "sweep.json"), nullptr, false); }
  std::string State(std::size_t point, std::size_t seed) const {
    const json sweep = SweepJson();
    if (!sweep.is_object()) return "";
    return sweep["points"][point]["runs"][seed]["state"].get<std::string>();
  }
};

TEST_F(SweepTest, InterruptedGoneOnWithAndReported) {
  constexpr std::uint64_t kSteps = kSeconds / 4;
  WriteGrid(kSteps);
  auto sweep = Sweep();
  ASSERT_TRUE(Eventually([&] { return State(0, 0) == "running" || !sweep->Running(); }));
  auto second = Sweep();
  EXPECT_EQ(WaitFor(*second), 2);
  EXPECT_THAT(second->err(), HasSubstr("another starling sweep is running in "));

  // Seed by seed: the first run is done, and the second has weights to go on from.
  ASSERT_TRUE(Eventually([&] {
    return (State(0, 0) == "finished" && HasWeights(swept() / "bound=unbounded/seed-1")) ||
           !sweep->Running();
  }));
  sweep->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*sweep), 130) << sweep->err();
  EXPECT_THAT(sweep->err(), HasSubstr("runs are done; go on with: "));
  EXPECT_THAT(sweep->err(), HasSubstr("starling sweep bounds.toml"));
  ExpectNothingLeft();
  ASSERT_EQ(State(1, 0), "unfinished") << "it was to be interrupted in its middle";
  EXPECT_EQ(State(0, 1), "not begun");

  auto report = Start("starling", {"report", "swept", "--out", "half.html"});
  EXPECT_EQ(WaitFor(*report), 0) << report->err();
  EXPECT_THAT(TextOf(dir_ / "half.html"), AllOf(HasSubstr("1 unfinished"), HasSubstr("not begun")));

  auto resumed = Sweep();
  EXPECT_EQ(WaitFor(*resumed), 0) << resumed->err();
  EXPECT_THAT(resumed->err(), HasSubstr("4 runs (2 points, 2 seeds), 1 at a time; 1 done already; "
                                        "1 to go on with"));
  EXPECT_THAT(resumed->out(), HasSubstr("bound=unbounded         2 "));
  EXPECT_THAT(TextOf(swept() / "bound=unbounded/seed-1/log"), HasSubstr("resuming from "));
  EXPECT_THAT(TextOf(swept() / "bound=0/seed-1/log"), Not(HasSubstr("resuming from ")));
  ExpectNothingLeft();

  const json points = SweepJson()["points"];
  for (const json& point : points) {
    EXPECT_EQ(point["finished"], 2);
    EXPECT_EQ(point["interquartile_mean"], point["mean"]) << "of two none is left out";
    for (const json& run : point["runs"]) {
      EXPECT_EQ(run["state"], "finished");
      EXPECT_GE(run["steps"], kSteps);
      EXPECT_EQ(run["evaluation"]["episodes"], 20);
    }
  }
  EXPECT_EQ(points[0]["runs"][0]["staleness"]["max"], 0);
}

// Its runs write their checkpoints, and the next sweep goes on from there.
TEST_F(SweepTest, Killed) {
  WriteGrid(kSeconds / 4, "[1]");
  auto sweep = Sweep();
  ASSERT_TRUE(
      Eventually([&] { return HasWeights(swept() / "bound=0/seed-1") || !sweep->Running(); }));
  sweep->Signal(SIGKILL);
  EXPECT_EQ(WaitFor(*sweep), 128 + SIGKILL);
  EXPECT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
  EXPECT_EQ(State(0, 0), "running") << "nobody could say otherwise";
  auto next = Sweep();
  EXPECT_EQ(WaitFor(*next), 0) << next->err();
  EXPECT_THAT(next->err(), HasSubstr("; 1 to go on with\n"));
  EXPECT_THAT(TextOf(swept() / "bound=0/seed-1/log"), HasSubstr("resuming from "));
  ExpectNothingLeft();
}

// Ctrl-Z reaches the sweep alone.
TEST_F(SweepTest, ItsRunsStopAndGoOnWithIt) {
  WriteGrid(kEndless, "[1]");
  auto sweep = Sweep();
  const std::filesystem::path one = swept() / "bound=0/seed-1";
  ASSERT_TRUE(Eventually([&] { return HasWeights(one) || !sweep->Running(); }));
  const auto all_are = [&](bool stopped) {
    const std::vector<Running> processes = ProcessesNaming(swept().string());
    EXPECT_GE(processes.size(), 4u) << "starling, its learner and two actors";
    return (StateOf(sweep->pid()) == "T") == stopped &&
           std::ranges::all_of(
               processes, [&](const Running& p) { return (StateOf(p.pid) == "T") == stopped; });
  };
  for (int time = 0; time < 3; ++time) {
    sweep->Signal(SIGTSTP);
    ASSERT_TRUE(Eventually([&] { return all_are(true); }));
    sweep->Signal(SIGCONT);
    ASSERT_TRUE(Eventually([&] { return all_are(false); }));
  }
  sweep->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*sweep), 130) << sweep->err();
  EXPECT_THAT(TextOf(one / "log"), Not(HasSubstr("hang")));
}

// The learner does not answer, so that one Ctrl-C is not enough.
TEST_F(SweepTest, TheSecondCtrlCEndsItAtOnce) {
  WriteGrid(kEndless, "[1]");
  auto sweep = Sweep();
  const auto learner = [&] {
    for (const Running& process : ProcessesNaming(swept().string())) {
      if (process.program == "starling-learner") return process.pid;
    }
    return pid_t{0};
  };
  ASSERT_TRUE(
      Eventually([&] { return HasWeights(swept() / "bound=0/seed-1") || !sweep->Running(); }));
  const pid_t pid = learner();
  ASSERT_NE(pid, 0);
  ::kill(pid, SIGSTOP);
  sweep->Signal(SIGINT);
  ASSERT_TRUE(AwaitSaid(*sweep, "once more ends it"));
  sweep->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*sweep), 128 + SIGINT);
  ::kill(pid, SIGCONT);
  EXPECT_TRUE(Eventually([&] { return learner() == 0; }));
}

TEST_F(SweepTest, InterruptedInAnEvaluation) {
  WriteGrid(16'000, "[1]", 10'000'000);
  auto sweep = Sweep();
  ASSERT_TRUE(Eventually([&] {
    for (const Running& process :
         ProcessesNaming((swept() / "bound=0/seed-1/checkpoints").string())) {
      if (process.After("--episodes") == "10000000") return true;
    }
    return !sweep->Running();
  }));
  sweep->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*sweep), 130) << sweep->err();
  EXPECT_THAT(sweep->err(), Not(HasSubstr("was killed")));
  EXPECT_EQ(State(0, 0), "unfinished");
  const std::string log = TextOf(swept() / "bound=0/seed-1/log");

  WriteGrid(16'000, "[1]", 20);
  auto next = Sweep();
  EXPECT_EQ(WaitFor(*next), 0) << next->err();
  EXPECT_EQ(TextOf(swept() / "bound=0/seed-1/log"), log) << "it was only evaluated";
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["evaluation"]["episodes"], 20);
  ExpectNothingLeft();
}

TEST_F(SweepTest, ItsEvaluationIsThatOfStarlingEval) {
  WriteGrid(32'000);
  auto sweep = Sweep();
  EXPECT_EQ(WaitFor(*sweep), 0) << sweep->err();
  const std::string run = "swept/bound=0/seed-2";
  auto eval = Start("starling", {"eval", run, "--episodes", "20", "--json"});
  EXPECT_EQ(WaitFor(*eval), 0) << eval->err();
  EXPECT_EQ(SweepJson()["points"][0]["runs"][1]["evaluation"], json::parse(eval->out()));

  auto report = Start("starling", {"report", "swept"});
  EXPECT_EQ(WaitFor(*report), 0) << report->err();
  const std::string page = TextOf(dir_ / "report.html");
  EXPECT_EQ(HtmlMistake(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("bound = 0"), HasSubstr("bound = unbounded"),
                          HasSubstr("4 runs in 2 groups"), Not(HasSubstr("http")),
                          HasSubstr("the mean return of 20 episodes that its final weights")));
}

}  // namespace
}  // namespace starling
