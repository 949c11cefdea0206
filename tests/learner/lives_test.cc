#include "learner/lives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/protocol.h"

namespace starling::learner {
namespace {

using testing::IsEmpty;
using wire::MakeIncarnation;

// Joins an actor in `slot`, as far as Lives is concerned, and lets its first gradient arrive.
std::uint32_t JoinAndPlay(Lives& lives, std::uint32_t slot) {
  const std::uint32_t life = lives.Of(slot).number;
  lives.Begin(slot, life);
  return life;
}

TEST(LivesTest, AreNewForEveryActorThatPlayed) {
  Lives lives(1, std::nullopt);
  EXPECT_EQ(JoinAndPlay(lives, 0), MakeIncarnation(1, 0));
  EXPECT_EQ(JoinAndPlay(lives, 0), MakeIncarnation(1, 1));
  EXPECT_EQ(JoinAndPlay(lives, 5), MakeIncarnation(1, 0));
}

TEST(LivesTest, OfAnActorThatNeverPlayedIsTakenOver) {
  const Lives lives(1, std::nullopt);
  EXPECT_EQ(lives.Of(0).number, lives.Of(0).number);
  EXPECT_EQ(lives.Of(0).state, nullptr);
}

TEST(LivesTest, GoOnFromACut) {
  Lives before(1, std::nullopt);
  JoinAndPlay(before, 0);
  JoinAndPlay(before, 0);
  JoinAndPlay(before, 1);
  // Actor 0 is in its second life at the cut; actor 1 is gone.
  ActorStates cut = before.Save();
  cut.actors.push_back({.slot = 0, .life = MakeIncarnation(1, 1), .state = {std::byte{9}}});

  Lives after(2, cut);
  ASSERT_NE(after.Of(0).state, nullptr);
  EXPECT_EQ(after.Of(0).state->state, cut.actors[0].state);
  EXPECT_EQ(after.Of(0).number, MakeIncarnation(1, 1));
  EXPECT_EQ(after.Of(1).state, nullptr);
  EXPECT_EQ(after.Of(1).number, MakeIncarnation(1, 1)) << "as if the learner had never died";
  EXPECT_EQ(after.Save(), cut) << "nothing has happened since";
  // The state is used once.
  after.Begin(0, after.Of(0).number);
  EXPECT_EQ(after.Of(0).state, nullptr);
  EXPECT_EQ(after.Of(0).number, MakeIncarnation(1, 2));
  EXPECT_THAT(after.waiting(), IsEmpty());
}

TEST(LivesTest, AreFreshWhereAStateIsOfNoUse) {
  Lives lives(
      2, ActorStates{
             .base = 1, .begun = {{0, 1}}, .actors = {{.slot = 0, .life = MakeIncarnation(1, 0)}}});
  lives.Discard(0);
  EXPECT_EQ(lives.Of(0).state, nullptr);
  EXPECT_EQ(lives.Of(0).number, MakeIncarnation(1, 1));
}

TEST(LivesTest, WithoutACutDeriveFromTheNewTerm) {
  EXPECT_EQ(Lives(4, std::nullopt).Of(2).number, MakeIncarnation(4, 0));
  EXPECT_EQ(Lives(4, ActorStates{.base = 1}).Of(2).number, MakeIncarnation(1, 0));
}

TEST(LivesTest, AReplayFollowsThemIntoATermWithoutACut) {
  Lives lives(1, std::nullopt);
  JoinAndPlay(lives, 0);
  lives.Begin(0, MakeIncarnation(3, 0));
  EXPECT_EQ(lives.Of(0).number, MakeIncarnation(3, 1));
  EXPECT_EQ(lives.Of(1).number, MakeIncarnation(3, 0));
}

}  // namespace
}  // namespace starling::learner
