#include "envs/bridge/worker_envs.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/envs/bridge/fake_worker.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

// The fake does not end its reset before the file is there, which is made between the two halves.
TEST(WorkerEnvs, PlayBetweenTheHalvesOfAnAdvance) {
  const TempDir dir;
  const std::string file = (dir / "go").string();
  WorkerEnvs envs(FakeWorker("{\"wait_for\": \"" + file + "\"}"), 1, kSeed, {});
  envs.AdvanceAsync(Commands{kReset}, 1);
  std::ofstream(file) << "on";
  envs.AdvanceWait();
  EXPECT_EQ(envs.replaced(), 0);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_GT(envs.waited_ns(), 0);
}

// As the groups of an actor are if one of them can no longer be played.
TEST(WorkerEnvs, MayBeDestroyedWhileTheyPlay) {
  {
    WorkerEnvs envs(FakeWorker(), 2, kSeed, {.per_process = 1});
    envs.AdvanceAsync(Commands{kReset, kReset}, 1);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

TEST(WorkerEnvs, NameThemselvesAsTheActorsEnvs) {
  EnvSeed second = kSeed;
  second.first = 6;
  const std::string error = ErrorOf([&] {
    WorkerEnvs envs(FakeWorker(R"({"crash": 9})"), 2, second, {});
    envs.Advance(Commands{kReset, kReset});
  });
  EXPECT_THAT(error, HasSubstr("the process of envs 6 to 7"));
}

TEST(WorkerEnvs, PlaysWhatItIsTold) {
  WorkerEnvs envs(FakeWorker(R"({"length": 2})"), 3, kSeed, {.per_process = 3});
  // 1. The spec.
  EXPECT_EQ(envs.spec().env.name, "fake");
  EXPECT_EQ(envs.spec().env.obs_size(), 3);
  EXPECT_THAT(envs.spec().env.action_names, testing::ElementsAre("stay", "go", "jump"));
  EXPECT_TRUE(envs.spec().lives);
  EXPECT_FALSE(envs.spec().bytes);
  EXPECT_TRUE(envs.bytes(0).empty());

  // 2. Two envs are reset, the third is skipped.
  envs.Advance(Commands{kReset, kReset, kSkip});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_EQ(envs.result(0).end, End::kRunning);
  EXPECT_EQ(envs.result(0).lives, 2);

  // 3. Each env follows its own command.
  envs.Advance(Commands{2, kSkip, kReset});
  EXPECT_EQ(envs.result(0).reward, 2);
  EXPECT_EQ(envs.result(0).lives, 1);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 1, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_THAT(Frame(envs, 2), testing::ElementsAre(Shown(2), 0, 1));

  // 4. Episodes end and begin again.
  envs.Advance(Commands{1, 1, 1});
  EXPECT_EQ(envs.result(0).end, End::kTerminated);
  EXPECT_EQ(envs.result(1).end, End::kRunning);
  envs.Advance(Commands{kReset, kSkip, kSkip});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 2));
  EXPECT_EQ(envs.replaced(), 0);
}

TEST(WorkerEnvs, AnActionOfSeveralFramesIsOneExchange) {
  WorkerEnvs envs(FakeWorker(R"({"length": 5})"), 2, kSeed,
                  {.repeat = {.frames = 3, .keep_before = true}});
  envs.Advance(Commands{kReset, kReset}, 3);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1)) << "a reset is a reset";
  envs.Advance(Commands{2, kSkip}, 3);
  EXPECT_EQ(envs.result(0).reward, 6);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 3, 1));
  EXPECT_THAT(envs.floats_before(0), testing::ElementsAre(Shown(0), 2, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  envs.Advance(Commands{1, 1}, 3);
  EXPECT_EQ(envs.result(0).reward, 2) << "it ends before the third";
  EXPECT_EQ(envs.result(0).end, End::kTerminated);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 5, 1));
  EXPECT_EQ(envs.result(1).reward, 3);
  envs.Advance(Commands{kReset, 1}, 1);
  EXPECT_EQ(envs.result(1).reward, 1) << "fewer may be asked for";
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 4, 1));
  EXPECT_THAT(envs.floats_before(1), testing::ElementsAre(Shown(1), 3, 1));
}

constexpr char kThreeChoices[] =
    R"("actions": {"counts": [3, 4, 2], "names": [], "masked": false})";
constexpr char kBox[] = R"("actions": {"low": [-2, null], "high": [2, 5]})";

// The fake's reward is the sum of the k-th words times 10^k.
TEST(WorkerEnvs, SeveralChoicesAreWordsSideBySide) {
  WorkerEnvs envs(FakeWorker(std::string("{") + kThreeChoices + "}"), 3, kSeed,
                  {.per_process = 2, .repeat = {.frames = 3}});
  EXPECT_EQ(envs.spec().env.actions, ActionSpace::Choices({3, 4, 2}));
  envs.Advance(Commands{kReset, 9, 9, kSkip, 9, 9, kReset, 0, 0});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(0, 0, 0)) << "skipped, whatever is behind it";
  envs.Advance(Commands{2, 3, 1, kReset, 0, 0, 0, 1, 0});
  EXPECT_EQ(envs.result(0).reward, 132);
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_EQ(envs.result(2).reward, 10);
  envs.Advance(Commands{1, 0, 1, 0, 0, 1, kSkip, 0, 0}, 3);
  EXPECT_EQ(envs.result(0).reward, 3 * 101) << "of three frames";
  EXPECT_EQ(envs.result(1).reward, 3 * 100);
  EXPECT_EQ(envs.result(2).reward, 10);
}

TEST(WorkerEnvs, ABoxIsNumbersWhateverTheirSign) {
  WorkerEnvs envs(FakeWorker(std::string("{") + kBox + "}"), 1, kSeed, {.repeat = {.frames = 2}});
  constexpr float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(envs.spec().env.actions, ActionSpace::Box({-2, -infinite}, {2, 5}));
  envs.Advance(Commands{kReset, 0});
  envs.Advance(Commands{WordOf(-1.5f), WordOf(0.25f)});
  EXPECT_EQ(envs.result(0).reward, 1);
  envs.Advance(Commands{WordOf(2), WordOf(-3)}, 2);
  EXPECT_EQ(envs.result(0).reward, 2 * -28);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 3, 1));
}

// An action is stuck as a whole, by one draw a frame, whatever its words are.
TEST(WorkerEnvs, AStickyActionIsAllOfItsWords) {
  const auto stuck = [](const std::string& actions, const Commands& action, double reward) {
    WorkerEnvs envs(FakeWorker("{\"length\": 1000, " + actions + "}"), 1, kSeed,
                    {.sticky_actions = 0.5});
    Commands reset(action.size(), 0);
    reset[0] = kReset;
    envs.Advance(reset);
    std::vector<bool> first;
    for (int i = 0; i < 40; ++i) {
      // The other action is that of rest.
      envs.Advance(i % 2 == 0 ? action : Commands(action.size(), 0));
      EXPECT_THAT(envs.result(0).reward, testing::AnyOf(0, reward));
      first.push_back(envs.result(0).reward == reward);
    }
    return first;
  };
  const auto one = stuck(R"("mask": [])", {2}, 2);
  EXPECT_EQ(stuck(kThreeChoices, {2, 3, 1}, 132), one);
  EXPECT_EQ(stuck(kBox, {WordOf(-1.5f), WordOf(0.25f)}, 1), one);
}

// The action of rest lies within the box.
TEST(WorkerEnvs, BeforeTheFirstActionABoxRests) {
  WorkerEnvs envs(FakeWorker(R"({"actions": {"low": [1, -5], "high": [2, -3]}})"), 1, kSeed,
                  {.sticky_actions = 1});
  envs.Advance(Commands{kReset, 0});
  envs.Advance(Commands{WordOf(2), WordOf(-4)});
  EXPECT_EQ(envs.result(0).reward, 1 - 30);
}

TEST(WorkerEnvs, ADeadProcessCutsEpisodesUnderNegativeNumbers) {
  const TempDir dir;
  WorkerEnvs envs(FakeWorker(std::string("{") + kBox + R"(, "at": 2, "exit": 1, "once": ")" +
                             (dir / "once").string() + "\"}"),
                  2, kSeed, {.per_process = 2});
  const std::int32_t back = WordOf(-1);
  envs.Advance(Commands{kReset, 0, kReset, 0});
  envs.Advance(Commands{back, back, back, back});
  envs.Advance(Commands{back, back, kSkip, 0});
  EXPECT_EQ(envs.replaced(), 1u);
  EXPECT_EQ(envs.result(0).end, End::kCut);
  envs.Advance(Commands{kReset, 0, back, back});
  EXPECT_EQ(envs.result(1).end, End::kCut);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0, 2), 0, 1));
}

std::string Masked(const std::string& mask, const std::string& more = "") {
  return R"({"actions": {"counts": [2, 3], "names": [], "masked": true}, "mask": )" + mask + more +
         "}";
}

TEST(WorkerEnvs, AMaskIsBehindTheFrame) {
  WorkerEnvs envs(FakeWorker(Masked("[1, 0, 0, 0, 0.5]")), 1, kSeed, {});
  EXPECT_EQ(envs.spec().env.obs_size(), 3);
  envs.Advance(Commands{kReset, 0});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1, 1, 0, 0, 0, 0.5));
}

TEST(WorkerEnvs, AMaskThatLeavesNoChoiceIsNonsense) {
  EXPECT_THAT(TrialOf(Masked("[0, 1, 0, 0, 0]")),
              HasSubstr("gave an invalid answer: env 0 forbids every value of choice 1"));
  EXPECT_THAT(TrialOf(Masked("[0, 0, 1, 1, 1]")), HasSubstr("forbids every value of choice 0"));
}

TEST(WorkerEnvs, ALostLifeStopsTheRepeatIfAskedFor) {
  WorkerEnvs envs(FakeWorker(), 1, kSeed, {.repeat = {.frames = 3, .stop_at_lost_life = true}});
  envs.Advance(Commands{kReset});
  envs.Advance(Commands{2}, 3);
  EXPECT_EQ(envs.result(0).reward, 2) << "the fake loses one in every frame";
}

TEST(WorkerEnvs, WhatCannotBeIsNonsenseBeforeTheNewestFrame) {
  for (const char* nonsense :
       {R"("nonsense": "before")", R"("nonsense": "reward", "value": 1e39)"}) {
    WorkerEnvs envs(FakeWorker(std::string(R"({"at": 2, )") + nonsense + "}"), 1, kSeed,
                    {.repeat = {.frames = 2, .keep_before = true}});
    envs.Advance(Commands{kReset});
    envs.Advance(Commands{1}, 2);
    EXPECT_EQ(envs.result(0).end, End::kCut) << nonsense;
  }
}

// The frame before the newest is pooled into the final observation of a truncated episode only.
TEST(WorkerEnvs, TheFrameBeforeMeansSomethingWhereAnEpisodeIsTruncated) {
  const auto end_of = [](const std::string& options) {
    WorkerEnvs envs(FakeWorker(R"({"length": 2, "at": 2, )" + options + "}"), 1, kSeed,
                    {.repeat = {.frames = 3, .keep_before = true}});
    envs.Advance(Commands{kReset});
    envs.Advance(Commands{1}, 3);
    if (envs.result(0).end == End::kTruncated) {
      EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 2, 1));
      EXPECT_THAT(envs.floats_before(0), testing::ElementsAre(Shown(0), 1, 1));
    }
    return envs.result(0).end;
  };
  EXPECT_EQ(end_of(R"("truncates": true)"), End::kTruncated);
  EXPECT_EQ(end_of(R"("truncates": true, "nonsense": "before")"), End::kCut);
  EXPECT_EQ(end_of(R"("nonsense": "before")"), End::kTerminated);
}

TEST(WorkerEnvs, HowEnvsAreSpreadChangesNothing) {
  for (const int per_process : {1, 2, 5, 64}) {
    WorkerEnvs envs(FakeWorker(), 5, kSeed, {.per_process = per_process});
    envs.Advance(Commands{kReset, kReset, kReset, kReset, kReset});
    envs.Advance(Commands{0, 1, 2, 1, kSkip});
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(Frame(envs, i),
                  testing::ElementsAre(Shown(static_cast<std::uint32_t>(i)), i < 4 ? 1 : 0, 1))
          << "env " << i << ", " << per_process << " in a process";
    }
    EXPECT_EQ(envs.result(2).reward, 2);
  }
}

}  // namespace
}  // namespace starling::envs
