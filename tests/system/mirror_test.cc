// Ranks of MPI: the bits of a learner at bound 0 without one, and what becomes of a run whose ranks
// die, hang or are stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <variant>
#include <vector>

#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "tests/support/own_disk.h"
#include "tests/system/run_fixture.h"
#include "wire/runtime_dir.h"

namespace starling {
namespace {

using testing::HasSubstr;

class MirrorTest : public RunTest {
 protected:
  void SetUp() override {
#ifndef STARLING_MPIRUN
    GTEST_SKIP() << "built without MPI (scripts/setup --mpi)";
#endif
  }

  static const char* MpirunPath() {
#ifdef STARLING_MPIRUN
    return STARLING_MPIRUN;
#else
    return "";
#endif
  }
  // mpirun over `ranks` processes; `words`: of starling-rank.
  std::unique_ptr<Process> StartRanks(int ranks, const Strings& words) {
    const Strings mpirun = {"-n",   std::to_string(ranks),        "--oversubscribe", "--bind-to",
                            "none", STARLING_BIN "/starling-rank"};
    // As root MPI wants to be asked twice. Its files go where the test's go.
    return Start(MpirunPath(), Plus(mpirun, words), {},
                 {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                  "TMPDIR=" + runtime().string(),
                  "OMPI_MCA_btl_vader_backing_directory=" + runtime().string()});
  }
  std::unique_ptr<Process> StartMirrored(int ranks, const Strings& settings,
                                         const std::string& name = "run") {
    Strings words =
        TrainWords(Plus(settings, {"updates.exchange=allreduce", "staleness.bound=0"}), name);
    words.erase(words.begin());  // "train"
    return StartRanks(ranks, words);
  }
  std::unique_ptr<Process> ResumeMirrored(int ranks) {
    return StartRanks(ranks, {"--run-dir", run().string(), "--resume"});
  }
  std::vector<Running> Ranks() const {
    std::vector<Running> ranks = Find("starling-rank");
    std::ranges::sort(ranks, {}, &Running::pid);
    return ranks;
  }

  static learner::Checkpoint NewestOf(const std::filesystem::path& run) {
    return *learner::LastGood(run / "checkpoints").checkpoint;
  }
};

struct Shape {
  const char* name;
  int ranks;
  Strings settings;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class MirrorOfTest : public MirrorTest, public testing::WithParamInterface<Shape> {};

TEST_P(MirrorOfTest, HasTheBitsOfALearnerAtBoundZero) {
  const auto& [name, ranks, more] = GetParam();
  const Strings settings = Plus({"run.steps=24000", fmt::format("actors.count={}", ranks)}, more);
  ASSERT_EQ(WaitFor(*StartMirrored(ranks, settings, "mirrored")), 0) << said_;
  ASSERT_EQ(Train(Plus(settings, {"staleness.bound=0"})), 0) << said_;
  const learner::Checkpoint mirrored = NewestOf(dir_ / "mirrored"), learnt = NewestOf(run());
  EXPECT_EQ(mirrored.version, learnt.version);
  EXPECT_EQ(mirrored.weights, learnt.weights);
  EXPECT_EQ(mirrored.optimizer_state, learnt.optimizer_state);
  // Rank 0 has kept the books: the run can be done again.
  const auto replay = Start("starling", {"replay", (dir_ / "mirrored").string()});
  EXPECT_EQ(WaitFor(*replay), 0) << said_;
  EXPECT_THAT(replay->out(), HasSubstr("bit for bit"));
}

const Shape kShapes[] = {
    {"Three", 3, {}},
    {"FourInBf16", 4, {"wire.gradient=bf16", "wire.weights=bf16"}},
    {"OneAlone", 1, {}},
    {"Normalized",
     3,
     {"env.name=control/reach", "net.kind=mlp", "env.normalize_observations=true",
      "env.normalize_rewards=true"}},
    {"DataAgain",
     2,
     {"env.name=control/reach", "net.kind=mlp", "env.normalize_observations=true", "loss.kind=ppo",
      "updates.epochs=2", "updates.minibatches=2"}},
    {"SamplesAgain", 2, {"loss.kind=ppo", "updates.minibatches=5", "updates.shuffle=samples"}},
};
INSTANTIATE_TEST_SUITE_P(Of, MirrorOfTest, testing::ValuesIn(kShapes),
                         [](const auto& test) { return test.param.name; });

TEST_F(MirrorTest, AKilledRankEndsAllAndNothingIsLost) {
  const auto ranks =
      StartMirrored(3, {Steps(kEndless), "actors.count=3", "checkpoint.every_steps=8000"});
  ASSERT_TRUE(AwaitCheckpoint(*ranks)) << ranks->err();
  ASSERT_EQ(Ranks().size(), 3u);
  ASSERT_EQ(kill(Ranks()[2].pid, SIGKILL), 0);
  EXPECT_NE(WaitFor(*ranks), 0);
  EXPECT_THAT(Ranks(), testing::IsEmpty());
  // It goes on, in a new term, until it is told to stop.
  const auto again = ResumeMirrored(3);
  ASSERT_TRUE(AwaitSaid(*again, "nothing is lost")) << again->err();
  ASSERT_TRUE(Eventually([&] { return Checkpoints().back().starts_with("t0002-"); }));
  again->Signal(SIGUSR1);
  EXPECT_EQ(WaitFor(*again), 130) << again->err();
  const json summary = Summary();
  ExpectSound(summary);
  ExpectFinalCheckpoint(summary);
  EXPECT_EQ(WaitFor(*Start("starling", {"replay", run().string()})), 0) << said_;
}

TEST_F(MirrorTest, AResumedRunWaitsForRoomOnItsDisk) {
  std::filesystem::create_directory(run());
  const OwnDisk disk(run());
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  const Strings settings = {"actors.count=3", Steps(24'000)};
  ASSERT_EQ(WaitFor(*StartMirrored(3, settings)), 0) << said_;
  const std::filesystem::path filler = run() / "filler";
  disk.Fill(filler);
  const auto again = ResumeMirrored(3);
  ASSERT_TRUE(Eventually([&] {
    return again->err().find("free space there") != std::string::npos || !again->Running();
  })) << again->err();
  std::filesystem::remove(filler);
  EXPECT_EQ(WaitFor(*again), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("tried again for 10 minutes"));
}

TEST_F(MirrorTest, ARankThatHangsIsNamed) {
  const auto ranks = StartMirrored(3, {Steps(kEndless), "actors.count=3",
                                       "checkpoint.every_steps=8000", "staleness.deadline_s=1"});
  ASSERT_TRUE(AwaitCheckpoint(*ranks)) << ranks->err();
  ASSERT_EQ(Ranks().size(), 3u);
  ASSERT_EQ(kill(Ranks()[1].pid, SIGSTOP), 0);
  EXPECT_NE(WaitFor(*ranks), 0);
  EXPECT_THAT(ranks->err(), HasSubstr("for 1 s (staleness.deadline_s)"));
  EXPECT_THAT(Ranks(), testing::IsEmpty());
}

TEST_F(MirrorTest, MistakesLeaveNoRunBehind) {
  const auto few = StartMirrored(2, {"actors.count=3"});
  EXPECT_EQ(WaitFor(*few), 2);
  EXPECT_THAT(few->err(), HasSubstr("actors.count = 3, but MPI has started 2 ranks: start as many "
                                    "as there are actors (mpirun -n 3), or set actors.count"));
  Strings words = TrainWords({"actors.count=2"});
  words.erase(words.begin());
  const auto other = StartRanks(2, words);
  EXPECT_EQ(WaitFor(*other), 2);
  EXPECT_THAT(other->err(), HasSubstr("updates.exchange = \"learner\""));
  const auto contradiction = StartMirrored(2, {"actors.count=2", "learner.shards=2"});
  EXPECT_EQ(WaitFor(*contradiction), 2);
  EXPECT_THAT(contradiction->err(), HasSubstr("learner.shards = 2 contradicts updates.exchange"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

// A supervisor starts mpirun where it would start a learner.
class SupervisedMirrorTest : public MirrorTest {
 protected:
  std::unique_ptr<Process> StartTrainMirrored(const Strings& settings) {
    return StartTrain(Plus(settings, kMirrored));
  }
  static inline const Strings kMirrored = {"actors.count=3", "updates.exchange=allreduce",
                                           "staleness.bound=0"};
};

TEST_F(SupervisedMirrorTest, TrainsToTheEnd) {
  const auto train = StartTrainMirrored({"run.steps=24000"});
  ExpectDone(WaitFor(*train), 24000);
  EXPECT_EQ(Summary()["staleness"]["max"], 0);
  EXPECT_EQ(Summary()["updates"], 50);
}

// The hashes of the weights in a segment of a journal, by version.
std::map<std::uint64_t, std::uint64_t> HashesOf(const std::filesystem::path& segment) {
  std::map<std::uint64_t, std::uint64_t> hashes;
  learner::SegmentReader reader(segment);
  while (const auto record = reader.Next()) {
    const auto* hash = std::get_if<learner::HashRecord>(&*record);
    if (hash != nullptr) hashes[hash->version] = hash->hash;
  }
  return hashes;
}

// All ranks start again, and make the updates after the checkpoint again, to the same bits.
TEST_F(SupervisedMirrorTest, AKilledRankCostsTimeAndNoBit) {
  const auto has_updates = [&](const char* segment) {
    const auto path = run() / "journal" / segment;
    return std::filesystem::exists(path) && std::filesystem::file_size(path) > 4000;
  };
  // 1. A checkpoint at version 50, and updates after it.
  ASSERT_EQ(WaitFor(*StartTrainMirrored({Steps(24'000), "checkpoint.every_steps=1000000000",
                                         "checkpoint.redo_s=86400", "learner.hash_every=1"})),
            0)
      << said_;
  const auto train = Start("starling", ResumeWords({Steps(kEndless)}));
  ASSERT_TRUE(Eventually([&] { return has_updates("t0002-s000000"); })) << Log();
  ASSERT_EQ(Ranks().size(), 3u);
  // 2. A rank is killed.
  ASSERT_EQ(kill(Ranks()[1].pid, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] { return has_updates("t0003-s000000"); })) << Log();
  const json summary = Interrupt(*train);
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_EQ(summary["exact"], true);
  EXPECT_THAT(Log(), HasSubstr("are left to the ranks, which make the same ones again"));
  EXPECT_THAT(Log(), HasSubstr("the ranks make what came after it again"));
  EXPECT_EQ(WaitFor(*Start("starling", {"replay", run().string()})), 0) << said_;
  // 3. Both terms have the same weights at the same versions.
  const auto before = HashesOf(run() / "journal/t0002-s000000"),
             after = HashesOf(run() / "journal/t0003-s000000");
  ASSERT_TRUE(before.contains(51) && after.contains(51));
  for (const auto& [version, hash] : after) {
    if (!before.contains(version)) break;
    EXPECT_EQ(hash, before.at(version)) << version;
  }
}

TEST_F(SupervisedMirrorTest, NoRankOutlivesItsMpirun) {
  const auto train = StartTrainMirrored({Steps(kEndless), "checkpoint.every_steps=8000"});
  ASSERT_TRUE(AwaitCheckpoint(*train)) << Log();
  const std::vector<Running> mpirun = Find("mpirun");
  ASSERT_EQ(mpirun.size(), 1u);
  ASSERT_EQ(kill(mpirun[0].pid, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] { return Checkpoints().back().starts_with("t0002-"); })) << Log();
  EXPECT_EQ(Interrupt(*train)["learner"]["restarted"], 1);
}

TEST_F(SupervisedMirrorTest, AKilledSupervisorCostsNoUpdate) {
  const auto train = StartTrainMirrored({Steps(kEndless), "checkpoint.every_steps=8000"});
  ASSERT_TRUE(AwaitCheckpoint(*train)) << Log();
  train->Signal(SIGKILL);
  EXPECT_EQ(train->Wait(), 128 + SIGKILL);
  EXPECT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
  // The ranks have removed their files. The killed supervisor's are left, its own and MPI's:
  // the next start removes them.
  EXPECT_EQ(wire::RuntimeDir::RemoveStale(wire::RuntimeRoot(runtime().string())), 2u);
  ExpectRuntimeEmpty();
  EXPECT_THAT(TextOf(run() / "metrics.jsonl"), HasSubstr("\"phase\":\"done\""));
}

// Ranks have process groups of their own.
TEST_F(SupervisedMirrorTest, RanksStopAndGoOnWithTheirSupervisor) {
  const auto train = StartTrainMirrored(
      {Steps(kEndless), "checkpoint.every_steps=8000", "staleness.deadline_s=1"});
  ASSERT_TRUE(AwaitCheckpoint(*train)) << Log();
  const std::vector<Running> ranks = Ranks();
  ASSERT_EQ(ranks.size(), 3u);
  const auto all_are = [&](bool stopped) {
    return std::ranges::all_of(
        ranks, [&](const Running& rank) { return (StateOf(rank.pid) == "T") == stopped; });
  };
  train->Signal(SIGTSTP);
  ASSERT_TRUE(Eventually([&] { return all_are(true) && StateOf(train->pid()) == "T"; }));
  const std::string newest = Checkpoints().back();
  train->Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return all_are(false) && Checkpoints().back() > newest; }));
  EXPECT_EQ(Interrupt(*train)["learner"]["restarted"], 0);
}

// With a learner first, without, with one again: the bits of a run that was never stopped.
TEST_F(SupervisedMirrorTest, ALearnersRunIsGoneOnWithAndBack) {
  // Without schedules over run.steps, which differ.
  const Strings learner = {"actors.count=3", "staleness.bound=0", "optimizer.lr_schedule=constant",
                           "loss.entropy_schedule=constant"};
  ASSERT_EQ(WaitFor(*Start("starling", TrainWords(Plus(learner, {Steps(48'000)}), "whole"))), 0);
  ASSERT_EQ(Train(Plus(learner, {Steps(16'000)})), 0) << said_;
  for (const Strings& more : {Strings{"updates.exchange=allreduce", Steps(32'000)},
                              Strings{"updates.exchange=learner", Steps(48'000)}}) {
    ASSERT_EQ(WaitFor(*Start("starling", ResumeWords(more))), 0) << said_;
  }
  EXPECT_EQ(Summary()["exact"], true);
  const learner::Checkpoint stopped = NewestOf(run()), whole = NewestOf(dir_ / "whole");
  EXPECT_EQ(stopped.version, whole.version);
  EXPECT_EQ(stopped.weights, whole.weights);
  EXPECT_EQ(stopped.optimizer_state, whole.optimizer_state);
}

TEST_F(SupervisedMirrorTest, AnMpirunThatNeverGetsSoFarIsGivenUp) {
  const std::filesystem::path programs = dir_ / "programs";
  std::filesystem::create_directory(programs);
  std::ofstream(programs / "mpirun") << "#!/bin/sh\necho mpirun: no such plug-in >&2\nexit 127\n";
  std::filesystem::permissions(programs / "mpirun", std::filesystem::perms::owner_all);
  const auto train = StartTrain(kMirrored, {"PATH=" + programs.string() + ":/usr/bin:/bin"});
  EXPECT_EQ(WaitFor(*train), 1);
  EXPECT_THAT(said_, HasSubstr("5 times in a row without an applied update"));
  EXPECT_THAT(Summary()["error"].dump(), HasSubstr("mpirun: no such plug-in"));
  ExpectNothingLeft();
}

TEST_F(SupervisedMirrorTest, AFullDiskCostsTheCheckpointsOfItsTime) {
  std::filesystem::create_directory(run());
  const OwnDisk disk(run());
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  const auto train = StartTrainMirrored({Steps(kEndless), "checkpoint.every_steps=8000"});
  ASSERT_TRUE(AwaitCheckpoint(*train)) << Log();
  ASSERT_TRUE(OutlivesAFullDisk(*train));
  const json summary = Interrupt(*train);
  ASSERT_TRUE(summary.is_object());
  ExpectFinalCheckpoint(summary);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
}

TEST_F(SupervisedMirrorTest, WithoutMpirunItIsRefused) {
  const auto train = StartTrain(kMirrored, {"PATH=/nowhere"});
  EXPECT_EQ(WaitFor(*train), 2);
  EXPECT_THAT(said_, HasSubstr("need mpirun, and there is none in $PATH: scripts/setup --mpi"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

// A run without a learner must not be given one, nor actors.
TEST_F(SupervisedMirrorTest, AMirroredRunHasNoLearnerAndNoActors) {
  const auto learner = StartLearner(kMirrored);
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("this run has no learner; start it by starling train"));
  const auto train = Start("starling", Plus(TrainWords(kMirrored), {"--no-actors"}));
  EXPECT_EQ(WaitFor(*train), 2);
  EXPECT_THAT(train->err(), HasSubstr("--no-actors contradicts updates.exchange"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

}  // namespace
}  // namespace starling
