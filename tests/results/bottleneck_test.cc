#include "results/summary.h"

#include <gmock/gmock.h>

namespace starling::results {
namespace {

TEST(BottleneckTest, SharesAreOfTheTimeThatPassed) {
  // Two actors and ten seconds; the lanes are other threads than the one that receives.
  const auto shares = TimeShares(
      {.actors = {.wait = 2, .refresh = 1, .act = 2, .act_wait = 4, .gradient = 10, .push = 1},
       .learner = {.receive = 2, .dispatch = 0.5, .idle = 7.5, .lanes = 9}});
  const auto& [wait, refresh, act, act_wait, gradient, push] = shares.actors;
  EXPECT_THAT((std::vector{wait, refresh, act, act_wait, gradient, push}),
              testing::ElementsAre(0.1, 0.05, 0.1, 0.2, 0.5, 0.05));
  const auto& [receive, dispatch, idle, lanes] = shares.learner;
  EXPECT_THAT((std::vector{receive, dispatch, idle, lanes}),
              testing::ElementsAre(0.2, 0.05, 0.75, 0.9));
}

TEST(BottleneckTest, IsNamedWithItsShares) {
  const learner::TimeStatus::Actors waiting{
      .wait = 30, .refresh = 5, .act = 20, .gradient = 40, .push = 5};
  const struct {
    learner::TimeStatus time;
    const char* sentence;  // its beginning
  } cases[] = {
      {{.actors = {.wait = 5, .refresh = 1, .act = 38, .gradient = 54, .push = 2},
        .learner = {.receive = 8, .dispatch = 1, .idle = 91, .lanes = 14}},
       "the actors: they compute 92 % of the time (act 38 %, gradient 54 %); the learner's lanes "
       "are busy 14 %, its network thread 9 %"},
      // Time that is not divided.
      {{.actors = {.wait = 8, .act = 92}, .learner = {.idle = 1}},
       "the actors: they compute 92 % of the time; the learner's lanes"},
      // 29.6 and 43.6 are rounded so that they add up.
      {{.actors = {.wait = 26.8, .act = 29.6, .gradient = 43.6}, .learner = {.idle = 1}},
       "the actors: they compute 74 % of the time (act 30 %, gradient 44 %)"},
      // One of the learner's threads is busy all the time.
      {{.actors = waiting, .learner = {.receive = 15, .dispatch = 5, .idle = 80, .lanes = 95}},
       "the learner: its lanes are busy 95 % of the time, its network thread 20 %; actors wait "
       "30 % and compute 60 %"},
      {{.actors = waiting, .learner = {.receive = 70, .dispatch = 20, .idle = 10, .lanes = 30}},
       "the learner: its lanes are busy 30 % of the time, its network thread 90 %"},
      // They wait for each other.
      {{.actors = {.wait = 60, .refresh = 2, .act = 15, .gradient = 20, .push = 3},
        .learner = {.receive = 8, .dispatch = 2, .idle = 90, .lanes = 14}},
       "waiting: actors wait 60 % of the time for a grant and compute 35 %; the learner's lanes "
       "are busy 14 %, its network thread 10 %"},
      {{.actors = {.wait = 6, .refresh = 1, .act = 8, .act_wait = 70, .gradient = 14, .push = 1},
        .learner = {.receive = 2, .dispatch = 1, .idle = 97, .lanes = 4}},
       "the environments: actors wait 70 % of the time for them and compute 22 %; the learner's "
       "lanes are busy 4 %, its network thread 3 %"},
      {{.actors = {.wait = 10, .refresh = 40, .act = 10, .gradient = 20, .push = 20},
        .learner = {.receive = 8, .dispatch = 2, .idle = 90, .lanes = 14}},
       "the wire: actors fetch weights 40 % of the time, push gradients 20 % and compute 30 %; "
       "the learner's lanes are busy 14 %, its network thread 10 %"},
  };
  for (const auto& [time, sentence] : cases) {
    EXPECT_THAT(NameBottleneck(time), testing::StartsWith(sentence));
  }
}

TEST(BottleneckTest, NothingIsNamedBeforeTheFirstGradient) {
  EXPECT_EQ(NameBottleneck({}), "");
  EXPECT_EQ(NameBottleneck({.actors = {}, .learner = {.idle = 3}}), "");
}

}  // namespace
}  // namespace starling::results
