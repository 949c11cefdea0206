#include "results/last_words.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

namespace starling::results {
namespace {

using Lines = std::vector<std::string>;

TEST(LastWordsTest, AnErrorCountsMoreThanTheSummaryAfterIt) {
  EXPECT_EQ(LastWords(Lines{
                "training catch in x: 2 actors, 100 steps",
                "12:00:00.000 error fleet: the learner gave up",
                "failed after 0:03: 0 steps, 0 updates, 0 steps/s",
                "  return      no episode has ended yet",
            }),
            "the learner gave up");
}

TEST(LastWordsTest, AnErrorThatPointsUpwardsIsFollowed) {
  EXPECT_EQ(
      LastWords(Lines{
          "training gym:X in x: 2 actors, 100 steps",
          "gym:X cannot be made: there is no module gymnasium",
          "12:00:00.000 warn  fleet: actor 1 hangs: killed",
          "12:00:00.000 error fleet: actor 0 (pid 7) ended with exit status 2: its message is "
          "above, the run ends",
          "  no checkpoint was written; the log is x/log",
      }),
      "gym:X cannot be made: there is no module gymnasium");
}

TEST(LastWordsTest, WhyAChildEndedIsItsOwnLastError) {
  EXPECT_EQ(LastWords(Lines{
                "12:00:00.000 error learner: no checkpoint of version 9: No space left on device",
                "12:00:00.000 error fleet: the learner (pid 7) ended with exit status 1",
                "failed after 0:03: 0 steps, 0 updates, 0 steps/s",
            }),
            "the learner (pid 7) ended with exit status 1: no checkpoint of version 9: No space "
            "left on device");
  EXPECT_EQ(LastWords(Lines{"12:00:00.000 error fleet: no summary: the disk is full; it would have "
                            "been: {\"env\":\"catch\"}"}),
            "no summary: the disk is full");
}

TEST(TroubleTest, HowAChildEnded) {
  using How = ChildExit::How;
  const Lines said = {"it is gone"};
  EXPECT_EQ(Trouble({How::kExited, 0}, said), "");
  EXPECT_EQ(Trouble({How::kExited, 1}, said), "it is gone");
  EXPECT_EQ(Trouble({How::kExited, 3}, Lines{}), "ended with exit status 3");
  EXPECT_EQ(Trouble({How::kExited, 130}, said), "it was interrupted, and not by us");
  EXPECT_EQ(Trouble({How::kKilled, SIGKILL}, said), "was killed by SIGKILL");
  EXPECT_TRUE(IsStop({How::kExited, 130}) && IsStop({How::kKilled, SIGTERM}));
  EXPECT_FALSE(IsStop({How::kExited, 1}) || IsStop({How::kKilled, SIGKILL}) ||
               IsStop({How::kNotStarted, 2}));
}

TEST(LastWordsTest, WithoutAnErrorTheLastThreeLines) {
  EXPECT_EQ(LastWords(Lines{"a.toml:2:1: unknown key", "a.toml:3:1: out of range", ""}),
            "a.toml:2:1: unknown key; a.toml:3:1: out of range");
  EXPECT_EQ(LastWords(Lines{"1", "2", "3", "4"}), "2; 3; 4");
  EXPECT_EQ(LastWords(Lines{"training catch in x: 1 actors, 100 steps", "broken"}), "broken");
  EXPECT_EQ(LastWords(Lines{"simulating catch in x: 2 actors, 100 steps, in 2 threads", "broken"}),
            "broken");
  EXPECT_EQ(LastWords(Lines{"12:00:00.000 info  playing x", "it is gone"}), "it is gone");
  EXPECT_EQ(LastWords(Lines{"12:00:00.000 info  playing: x"}), "x");
  EXPECT_EQ(LastWords(Lines{}), "");
}

TEST(WarningsTest, WhatAnEvaluationQualifiesItsResultBy) {
  const std::string cut = "12:00:00.000 warn  3 episodes did not end by themselves and were cut";
  EXPECT_EQ(Warnings(Lines{"12:00:00.000 info  playing x", cut, "{\"mean_return\": 1}"}),
            Lines{cut});
}

TEST(LastErrorTest, OfTheSupervisorSinceTheLastStart) {
  const Lines first = {"12:00:00.000 info  fleet: learner started, pid 3",
                       "12:00:01.000 error fleet: gave up"};
  EXPECT_EQ(LastError(first), "gave up");
  Lines again = first;
  again.push_back("12:01:00.000 info  fleet: learner started, pid 9");
  again.push_back("12:01:01.000 error learner: no checkpoint of version 3: disk full");
  EXPECT_EQ(LastError(again), "") << "what the learner could live with ended nothing";
  EXPECT_EQ(LastError(Lines{}), "");
}

}  // namespace
}  // namespace starling::results
