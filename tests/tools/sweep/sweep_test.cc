// `starling sweep`: runs that it starts, resumes and refuses.
#include "tools/sweep/sweep.h"

#include "core/instructions.h"
#include "tests/tools/sweep/sweep_fixture.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(SweepTest, EveryPointWithEverySeedAndThenNothingMore) {
  const Finished first = Sweep();
  EXPECT_EQ(first.status, kExitDone) << first.err;
  const std::string table =
      "point       seeds       mean     median    iq mean     95 % interval    steps/s\n"
      "bound=0         2       1.50       1.50       1.50      1.50 to 1.50        400\n"
      "bound=4         2       1.50       1.50       1.50      1.50 to 1.50        400\n"
      "Returns of the last 100 training episodes of each run.\n";
  EXPECT_EQ(first.out, table);
  EXPECT_THAT(first.err, AllOf(HasSubstr("sweep in sweeps/bounds: 4 runs (2 points, 2 seeds), 3 at "
                                         "a time\n"),
                               HasSubstr("bound=4 seed 2: return 1.50, 400 steps/s"),
                               HasSubstr("4/4  "), HasSubstr("starling report sweeps/bounds")));
  for (const char* run : {"bound=0/seed-1", "bound=0/seed-2", "bound=4/seed-1", "bound=4/seed-2"}) {
    const Config config = LoadConfig(dir_ / ("sweeps/bounds/" + std::string(run) + "/config.toml"));
    EXPECT_EQ(config.staleness.bound, run[6] == '4' ? 4u : 0u);
    EXPECT_EQ(config.run.seed, run[13] == '2' ? 2u : 1u);
    EXPECT_EQ(config.run.name, std::string(run, 7));
  }
  EXPECT_EQ(SweepJson()["points"][1]["runs"][0]["state"], "finished");
  EXPECT_EQ(SweepJson()["points"][1]["finished"], 2);

  dir_.Write("script.learner", "exit 1");  // no run is started
  const Finished second = Sweep();
  EXPECT_EQ(second.status, kExitDone) << second.err;
  EXPECT_EQ(second.out, table);
  EXPECT_THAT(second.err, HasSubstr("; 4 done already\n"));
}

TEST_F(SweepTest, AGridMayGrow) {
  EXPECT_EQ(Sweep().status, kExitDone);
  WriteGrid("[1, 2]", 0, "[grid]\nstaleness.bound = [0, 1, 4]\n");
  EXPECT_THAT(LogOf(kExitDone),
              AllOf(HasSubstr("6 runs (3 points, 2 seeds), 1 at a time; 4 done already"),
                    HasSubstr("bound=1 seed 2: "), Not(HasSubstr("bound=0 seed"))));
}

TEST_F(SweepTest, OnlyOnePoint) {
  const Finished sweep = Sweep({"--only", "staleness.bound=4"});
  EXPECT_EQ(sweep.status, kExitDone) << sweep.err;
  EXPECT_THAT(sweep.err, HasSubstr("2 runs (1 point, 2 seeds)"));
  EXPECT_THAT(sweep.out, AllOf(HasSubstr("\nbound=4 "), Not(HasSubstr("bound=0"))));
  EXPECT_THAT(LogOf(kExitDone), HasSubstr("4 runs (2 points, 2 seeds), 3 at a time; 2 done"));

  EXPECT_EQ(Sweep({"--only", "bound=4"}).status, kExitUserError);
}

TEST_F(SweepTest, OnePointIsGoneOnWith) {
  dir_.Write("script.learner", "exit 1");
  EXPECT_THAT(Sweep({"--only", "staleness.bound=4"}).err,
              HasSubstr(" sweep bounds.toml --only staleness.bound=4\n"));
}

// Each of the two learners waits for the other.
TEST_F(SweepTest, RunsSideBySide) {
  WriteGrid("[1, 2]", 0, "at_once = 2\n");
  dir_.Write("script.learner",
             std::string("touch here; await ../seed-1/here; await ../seed-2/here; ") + kTrains);
  EXPECT_EQ(Sweep().status, kExitDone);
}

// No child of a run is started: all of a simulation is in one process.
TEST_F(SweepTest, Simulates) {
  WriteGrid("[1]", 2, "simulate = true\n[grid]\nsimulate.stragglers = [0, 1]\n");
  dir_.Write("script.learner", "exit 1");
  const Finished first = Sweep();
  EXPECT_EQ(first.status, kExitDone) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("2 simulations (2 points, 1 seed)"),
                               HasSubstr("steps/s of virtual time")));
  EXPECT_THAT(first.out, HasSubstr("Simulated: steps per second of virtual time.\n"));
  EXPECT_EQ(SweepJson()["simulated"], true);
  const std::string run = "sweeps/bounds/stragglers=1/seed-1";
  EXPECT_EQ(nlohmann::json::parse(dir_.Read(run + "/summary.json"))["simulated"], true);
  EXPECT_EQ(SweepJson()["points"][1]["runs"][0]["evaluation"]["episodes"], 2);
  EXPECT_THAT(Sweep().err, HasSubstr("; 2 done already\n"));

  // As if it had been interrupted: a simulation cannot be resumed.
  std::filesystem::remove(dir_ / (run + "/summary.json"));
  std::filesystem::remove(dir_ / (run + "/final_eval.json"));
  EXPECT_THAT(LogOf(kExitDone), AllOf(HasSubstr("; 1 done already\n"),
                                      HasSubstr("it starts again from the beginning")));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "sweeps/bounds/old/stragglers=1/seed-1/journal"));
}

TEST_F(SweepTest, SimulationsWithOtherInstructionsAreSaidToDifferOnce) {
  const auto missing = Runs(Instructions::kNative) ? Instructions::kAmx : Instructions::kNative;
  WriteGrid("[1, 2]", 2,
            fmt::format("simulate = true\n[set]\nactors.instructions = \"{}\"\n[grid]\n"
                        "staleness.bound = [0, 4]\n",
                        NameOf(missing)));
  const Finished sweep = Sweep();
  EXPECT_EQ(sweep.status, kExitDone) << sweep.err;
  const std::string sentence = OtherInstructions(missing) + ", so seeds give other returns";
  const std::size_t at = sweep.err.find(sentence);
  ASSERT_NE(at, std::string::npos) << sweep.err;
  EXPECT_EQ(sweep.err.find(sentence, at + 1), std::string::npos);
  const std::string run = "sweeps/bounds/bound=0/seed-1";
  EXPECT_THAT(dir_.Read(run + "/log"), HasSubstr(OtherInstructions(missing) + ", so this seed"));
  auto summary = nlohmann::json::parse(dir_.Read(run + "/summary.json"));
  EXPECT_EQ(summary["instructions"], NameOf(BestInstructions()));

  // As if a program that has them had computed it.
  summary["instructions"] = NameOf(missing);
  dir_.Write(run + "/summary.json", summary.dump());
  const Finished again = Sweep();
  EXPECT_EQ(again.status, kExitUserError);
  EXPECT_THAT(again.err, HasSubstr(fmt::format("was computed with the instructions {}, and this "
                                               "program computes with {}; move it away, or give",
                                               NameOf(missing), NameOf(BestInstructions()))));
}

TEST_F(SweepTest, ATrainedRunIsEvaluatedOnly) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[128]");
  dir_.Write("script.learner", "exit 1");  // no run is started
  LogOf(kExitDone);
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["evaluation"]["episodes"], 3);
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["evaluation"]["greedy"], false);

  // Greedy play is another evaluation of the same weights.
  WriteGrid("[1]", 3, "eval_greedy = true\n[grid]\nstaleness.bound = [4]\n");
  const Finished greedy = Sweep();
  EXPECT_EQ(greedy.status, kExitDone) << greedy.err;
  EXPECT_THAT(greedy.out, HasSubstr("3 episodes a run, played greedily.\n"));
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["evaluation"]["greedy"], true);
  EXPECT_THAT(Sweep().err, HasSubstr("; 1 done already\n"));
}

// Runs train the configuration that was checked, even if the file changes afterwards.
TEST_F(SweepTest, TheConfigurationMayBeEditedMeanwhile) {
  dir_.Write("script.learner", std::string("remove ../../../../catch.toml; ") + kTrains);
  WriteGrid("[1]", 0, "[grid]\nstaleness.bound = [0, 4]\n");
  LogOf(kExitDone);
}

TEST_F(SweepTest, RunsOfAnotherConfigurationAreNeverMixedIn) {
  EXPECT_EQ(Sweep().status, kExitDone);
  WriteGrid("[1, 2]", 0, "[set]\nloss.gamma = 0.5\n[grid]\nstaleness.bound = [0, 4]\n");
  const std::string before = dir_.Read("sweeps/bounds/sweep.json");
  const Finished mixed = Sweep();
  EXPECT_EQ(mixed.status, kExitUserError);
  EXPECT_EQ(mixed.out, "");
  EXPECT_THAT(
      mixed.err,
      HasSubstr("sweeps/bounds/bound=4/seed-2 was trained with another "
                "configuration: loss.gamma is 0.99 there and 0.5 here; "
                "write what is there under [set] or [[where]] to go on with it, or give the "
                "sweep another dir = \"...\"\n"));
  EXPECT_EQ(dir_.Read("sweeps/bounds/sweep.json"), before);
}

TEST_F(SweepTest, ADirectoryThatCannotBeWritten) {
  dir_.Write("sweeps", "a file");
  EXPECT_THAT(LogOf(kExitUserError),
              HasSubstr("the sweep's directory sweeps/bounds cannot be written"));
}

TEST_F(SweepTest, AMistakeInTheGridStartsNothing) {
  dir_.Write("bounds.toml", "config = \"catch.toml\"\n[grid]\nstaleness.bound = [0, -1]\n");
  EXPECT_THAT(LogOf(kExitUserError),
              HasSubstr("bounds.toml:3:23: staleness.bound = -1 is out of range"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "sweeps"));
}

}  // namespace
}  // namespace starling::sweep
