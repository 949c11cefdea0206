#include "tools/replay/bisect.h"

#include <gmock/gmock.h>

#include "tests/support/error_of.h"
#include "tests/tools/replay/paired_run.h"

namespace starling::replay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BisectCondition, ComparesTheReturn) {
  const auto holds = [](const char* text, double value) {
    return ParseCondition(text).HoldsFor(value);
  };
  EXPECT_TRUE(holds("return < 5", 4.9));
  EXPECT_FALSE(holds("return < 5", 5));
  EXPECT_TRUE(holds("return <= 5", 5));
  EXPECT_TRUE(holds("return>-0.5", 0));
  EXPECT_FALSE(holds("return > 0", 0));
  EXPECT_TRUE(holds(" return >=1e2 ", 100));
  EXPECT_EQ(ParseCondition("return < 5").text, "return < 5");
}

TEST(BisectCondition, AnythingElseIsRefused) {
  for (const char* wrong : {"", "return", "return <", "return = 5", "return == 5", "loss < 5",
                            "return < five", "return < 5 or so", "return < 5x", "return << 5",
                            "return < nan", "5 > return", "return < 1e999"}) {
    EXPECT_EQ(ErrorOf([&] { ParseCondition(wrong); }),
              std::string("--bisect \"") + wrong +
                  "\" is no condition: write \"return < 5\", or with <=, > or >=");
  }
}

// The weights of a version are its number, and `returns_` gives their return.
class BisectTest : public testing::Test {
 protected:
  BisectResult Find(const char* condition, VersionRange range, std::size_t keep) {
    return Bisect(ParseCondition(condition), range, keep,
                  {.pass =
                       [&](const std::vector<std::uint64_t>& versions) {
                         passes_.push_back(versions);
                         WeightsByVersion weights;
                         for (const std::uint64_t version : versions) {
                           weights[version] = {static_cast<float>(version)};
                         }
                         return weights;
                       },
                   .mean_return =
                       [&](std::uint64_t version, const std::vector<float>& weights) {
                         EXPECT_EQ(weights[0], static_cast<float>(version));
                         EXPECT_EQ(++evaluated_[version], 1) << "version " << version;
                         return returns_(version);
                       }});
  }

  std::function<double(std::uint64_t version)> returns_;
  std::vector<std::vector<std::uint64_t>> passes_;
  std::map<std::uint64_t, int> evaluated_;
};

TEST_F(BisectTest, FindsTheVersionAtWhichTheReturnFell) {
  returns_ = [](std::uint64_t version) { return version < 17 ? 8 : 2; };
  const BisectResult found = Find("return < 5", {0, 40}, 3);
  ASSERT_TRUE(found.turn) << found.why_not;
  EXPECT_EQ(found.turn->version, 17u);
  EXPECT_EQ(found.turn->before, 8);
  EXPECT_EQ(found.turn->after, 2);
  EXPECT_THAT(passes_, ElementsAre(ElementsAre(0, 10, 20, 30, 40), ElementsAre(12, 15, 17),
                                   ElementsAre(16)));
  EXPECT_EQ(found.passes, 3);
  EXPECT_EQ(found.evaluations, static_cast<int>(evaluated_.size()));
}

// log2(30,001) is 15: so many halvings, in 3 passes that keep 32 versions, or 15 that keep one. The
// two ends are evaluated besides, and a pass that keeps no power of two may cost one more.
TEST_F(BisectTest, HalvesTheRange) {
  for (const std::uint64_t turn : {1u, 2u, 14'999u, 15'000u, 29'999u, 30'000u}) {
    returns_ = [&](std::uint64_t version) { return version < turn ? 1 : 0; };
    for (const auto& [keep, passes] : {std::pair(32, 3), std::pair(1, 15)}) {
      passes_.clear(), evaluated_.clear();
      const BisectResult found = Find("return < 1", {0, 30'000}, static_cast<std::size_t>(keep));
      ASSERT_TRUE(found.turn);
      EXPECT_EQ(found.turn->version, turn);
      EXPECT_LE(found.passes, passes);
      EXPECT_LE(found.evaluations, 15 + 2 + (keep > 1 ? passes : 0));
    }
  }
}

TEST_F(BisectTest, OfNeighboursNothingIsReplayedTwice) {
  returns_ = [](std::uint64_t version) { return static_cast<double>(version); };
  const BisectResult found = Find("return > 7", {7, 8}, 32);
  ASSERT_TRUE(found.turn);
  EXPECT_EQ(found.turn->version, 8u);
  EXPECT_THAT(passes_, ElementsAre(ElementsAre(7, 8)));
}

// Untrained weights often meet the condition, too: the last turn that the first pass shows counts.
TEST_F(BisectTest, WhereItHoldsAtBothEndsTheLastTurnIsFound) {
  returns_ = [](std::uint64_t version) {
    return version < 5 || (version >= 12 && version < 23) || version >= 33 ? 0 : 8;
  };
  const BisectResult found = Find("return < 5", {0, 40}, 3);
  ASSERT_TRUE(found.turn);
  EXPECT_EQ(found.turn->version, 33u);
}

TEST_F(BisectTest, SaysWhyThereIsNoTurn) {
  returns_ = [](std::uint64_t) { return 8; };
  BisectResult found = Find("return < 5", {0, 1'000}, 32);
  EXPECT_FALSE(found.turn);
  EXPECT_EQ(
      found.why_not,
      "at version 1000 the return is 8, and return < 5 must hold there: give another condition or "
      "--until");
  EXPECT_EQ(found.evaluations, 1);
  evaluated_.clear();
  found = Find("return > 5", {0, 40}, 3);
  EXPECT_FALSE(found.turn);
  EXPECT_EQ(
      found.why_not,
      "return > 5 holds at all of the 5 versions that were evaluated, from 0 on: give another "
      "limit or --after");
}

// ---- the weights of versions, and the whole command

TEST(WeightsOfTest, AreThoseOfTheRun) {
  PairedRun run;
  const auto cut = run.CheckpointAt(3, run.Train(3));
  run.Train(3);
  run.Flush();
  for (const bool from_cut : {false, true}) {
    if (from_cut) learner::WriteCheckpoint(run.checkpoints(), cut);
    const ReplayedRun replayed = OpenRun(run.dir.path());
    for (const std::vector<std::uint64_t>& versions :
         {std::vector<std::uint64_t>{0, 1, 5, 6}, {3, 4}, {4}, {6}}) {
      const WeightsByVersion weights = WeightsOf(replayed, versions);
      ASSERT_EQ(weights.size(), versions.size());
      for (const auto& [version, values] : weights) {
        EXPECT_EQ(values, version == 0 ? run.net.initial : run.Replay(version).state.weights)
            << version;
      }
    }
  }
}

class BisectRunTest : public testing::Test {
 protected:
  int Bisect(const char* condition) {
    ReplayOptions options;
    options.run_dir = run_.dir.path();
    options.bisect = condition;
    options.episodes = 2;
    return RunCaptured(options, out_, said_);
  }
  PairedRun run_;
  std::string out_, said_;
};

TEST_F(BisectRunTest, WithoutATurnTheStatusIsOne) {
  run_.Train(3);
  run_.Flush();
  EXPECT_EQ(Bisect("return > 100"), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("looking for return > 100 from version 0 to 3, 2 episodes each"));
  EXPECT_THAT(said_, HasSubstr("at version 3 the return is "));
}

TEST_F(BisectRunTest, WhereTheWeightsDifferTheStatusIsOne) {
  run_.Train(2);
  run_.journal->Append(learner::HashRecord{2, 99});
  run_.Flush();
  EXPECT_EQ(Bisect("return > 100"), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("the weights of version 2 are not those that the run had"));
}

}  // namespace
}  // namespace starling::replay
