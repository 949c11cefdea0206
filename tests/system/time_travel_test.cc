// What `starling replay` answers about whole runs: the update after which the return fell, a branch
// without an actor, the page of all updates.
#include <algorithm>
#include <map>
#include <regex>

#include "core/file.h"
#include "learner/storage/actor_states.h"
#include "learner/storage/journal_reader.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class TimeTravelTest : public RunTest {
 protected:
  std::string Replay(const Strings& more = {}, int expected = 0) {
    const auto replay = Start("starling", Plus({"replay", run().string()}, more));
    EXPECT_EQ(WaitFor(*replay), expected) << said_;
    return replay->out();
  }
};

// ---- an env whose rewards turn round (tests/envs/bridge/plugins/turncoat.cc)

constexpr std::uint64_t kTurn = 40'000;  // steps of each env
constexpr int kUnroll = 5;

const std::filesystem::path kPlugins =
    std::filesystem::path(STARLING_BIN).parent_path() / "tests/plugins";

std::string Turncoat() { return "env.name=plugin:" + (kPlugins / "turncoat.so").string(); }

Strings Turncoats(std::uint64_t steps) {
  return {Turncoat(),
          "net.kind=mlp",
          "net.hidden=[]",
          "actors.count=2",
          "actors.envs_per_actor=2",
          fmt::format("actors.unroll={}", kUnroll),
          "optimizer.lr=0.05",
          "checkpoint.every_steps=50000",
          fmt::format("run.steps={}", steps)};
}

// The versions at which the first and the last actor had played more than kTurn steps.
struct Turns {
  std::uint64_t first = 0, last = 0;
};
Turns TurnsOf(const std::filesystem::path& run_dir) {
  learner::JournalReader journal(run_dir / "journal");
  std::map<std::uint32_t, std::uint64_t> played;
  Turns turns;
  std::uint64_t version = 0;
  while (const auto record = journal.Next()) {
    if (const auto* update = std::get_if<learner::UpdateRecord>(&*record)) {
      version = update->version;
    }
    const auto* arrival = std::get_if<learner::ArrivalRecord>(&*record);
    if (arrival == nullptr) continue;
    std::uint64_t& steps = played[arrival->slot];
    if (steps <= kTurn && steps + kUnroll > kTurn) {
      if (turns.first == 0) turns.first = version;
      turns.last = version;
    }
    steps += kUnroll;
  }
  return turns;
}

// 30,000 updates. The policy turns round after its rewards: to a fresh env, which has not turned,
// it is the worst that there is.
TEST_F(TimeTravelTest, BisectFindsTheUpdateAfterWhichTheEvaluationFell) {
  ASSERT_EQ(Train(Turncoats(300'000)), 0) << said_;
  const Turns turn = TurnsOf(run());
  ASSERT_GT(turn.first, 1'000u);
  const std::string out = Replay({"--bisect", "return < 5"});
  std::smatch found;
  const std::regex result(
      "return < 5 from version [0-9]+ on: ([0-9.]+) there, ([0-9.]+) before \\(([0-9]+) replays, "
      "[0-9]+ evaluations\\)\n\nversion ([0-9]+): 1 gradient");
  ASSERT_TRUE(std::regex_search(out, found, result)) << out;
  EXPECT_LT(std::stod(found[1]), 5);
  EXPECT_GE(std::stod(found[2]), 5);
  EXPECT_LE(std::stoi(found[3]), 3);
  EXPECT_GT(std::stoull(found[4]), turn.first);
  EXPECT_LT(std::stoull(found[4]), turn.last + 4'000);

  // Of the part before the turn there is nothing to find.
  const Strings before = {"--bisect", "return < 5",
                          "--after",  fmt::format("{}", turn.first / 2),
                          "--until",  fmt::format("{}", turn.first)};
  Replay(before, 1);
  EXPECT_THAT(said_, ContainsRegex("at version [0-9]+ the return is [78][0-9.]*, and return < 5 "
                                   "must hold there"));
}

// A plug-in that can be saved is replayed, and done again after its learner was killed.
TEST_F(TimeTravelTest, APluginIsReplayedAndNothingOfItIsLost) {
  auto train = StartTrain({Turncoat(), "net.kind=mlp", "actors.count=2", Steps(kEndless),
                           "checkpoint.every_steps=4000"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(KillLearner());
  ASSERT_TRUE(Eventually([&] { return Checkpoints().back().starts_with("t0002-"); }));
  EXPECT_EQ(Interrupt(*train)["learner"]["restarted"], 1);
  EXPECT_FALSE(LogHas("cannot be redone")) << Log();
  EXPECT_THAT(Replay(), HasSubstr("bit for bit"));
}

TEST_F(TimeTravelTest, ABranchOfARunWhoseActorAndLearnerWereKilledIsARunOfItsOwn) {
  auto train = StartTrain({Steps(kEndless), "actors.count=3", "checkpoint.every_steps=8000",
                           "updates.gradients=2", "checkpoint.keep=50"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(OutlivesAnActorAndTheLearner());
  Interrupt(*train);
  const std::filesystem::path branch = run().string() + "-without-1";
  // From the beginning, and from the first cut after it. On a late machine a checkpoint is none.
  std::string first_cut;
  for (const std::string& name : Checkpoints()) {
    const bool cut =
        std::filesystem::exists(learner::ActorStatesPath(run() / "checkpoints" / name));
    if (first_cut.empty() && cut && name != Checkpoints().front()) first_cut = name;
  }
  ASSERT_NE(first_cut, "");
  ASSERT_NE(first_cut, Checkpoints().back());
  const std::string version = first_cut.substr(first_cut.find('v') + 1, 12);
  for (const std::string& after : {std::string("0"), version}) {
    const std::string out = Replay({"--without-actor", "1", "--after", after});
    EXPECT_THAT(out, HasSubstr("It is another run from there on"));
    EXPECT_THAT(out, ContainsRegex("left out: [0-9,]+ gradients?"));
    const auto again = Start("starling", {"replay", branch.string()});
    EXPECT_EQ(WaitFor(*again), 0) << said_;
    EXPECT_THAT(again->out(), HasSubstr("bit for bit"));
    EXPECT_EQ(CheckpointsOf(branch).front() == first_cut, after == version);
    std::filesystem::remove_all(branch);
  }
}

TEST_F(TimeTravelTest, ThePageOfARunOfHogwildLacksLosses) {
  ASSERT_EQ(Train({"run.steps=8000", "actors.count=2", "learner.apply=hogwild"}), 0) << said_;
  EXPECT_THAT(Replay({"--page"}), ContainsRegex("updates.html: 50 updates, [0-9]+ bytes"));
  EXPECT_THAT(ReadFile(run() / "updates.html"), HasSubstr("Losses and returns are left out"));
}

TEST_F(TimeTravelTest, QuestionsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const Strings& words) {
    said_.clear();
    Replay(words, 2);
    return said_;
  };
  EXPECT_THAT(refused({"--bisect", "loss < 5"}), HasSubstr("is no condition"));
  EXPECT_THAT(refused({"--bisect", "return < 5", "--page"}), HasSubstr("--bisect"));
  EXPECT_THAT(refused({"--page", "--without-actor", "1"}), HasSubstr("--page"));
  EXPECT_THAT(refused({"--without-actor", "x"}), HasSubstr("--without-actor"));
  EXPECT_THAT(refused({"--without-actor", "1"}), HasSubstr("is no run directory"));
  EXPECT_THAT(refused({"--after", "1"}),
              HasSubstr("--after requires --page, --bisect or --without-actor"));
  EXPECT_THAT(refused({"--greedy"}), HasSubstr("--greedy requires --bisect"));
  EXPECT_THAT(refused({"--save", "x"}), HasSubstr("a checkpoint is called x.safetensors"));
  EXPECT_THAT(refused({"--save", (run() / "checkpoints" / "x.safetensors").string()}),
              HasSubstr("--save"));
}

}  // namespace
}  // namespace starling
