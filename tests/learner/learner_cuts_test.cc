// A learner asks its actors for their states at a cut, and gives them back after a restart.
#include <gmock/gmock.h>

#include <atomic>
#include <semaphore>

#include "tests/support/learner_fixture.h"

namespace starling {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class LearnerCutsTest : public LearnerFixture {
 protected:
  LearnerCutsTest() { exact_ = true; }

  // One gradient of 4 samples.
  static void Play(FakeActor& actor) { actor.Push(actor.NextGrant(), 0.25f); }
  // Waits for the request for a state, and answers it.
  static void SendState(FakeActor& actor, const std::string& state) {
    while (!testing::Test::HasFailure()) {
      const wire::Answer answer = actor.NextAnswer();
      if (answer.cut == 0) continue;
      actor.header.version = answer.cut;
      actor.Send(wire::State{0, state.size(), state});
      return;
    }
  }
  learner::LastGoodResult Newest() const { return learner::NewestCut(dir_ / "checkpoints"); }
};

const std::string kBound = "updates.start_with=1\nstaleness.bound=0\n";

TEST_F(LearnerCutsTest, TheFirstCheckpointIsOneWithoutStates) {
  Start(kBound);
  Stop();
  const auto cut = Newest();
  ASSERT_TRUE(cut.checkpoint);
  EXPECT_EQ(cut.checkpoint->version, 0u);
  EXPECT_THAT(cut.checkpoint->actors->actors, IsEmpty());
}

TEST_F(LearnerCutsTest, AStateComesWithTheCheckpointAndGoesToTheNextActor) {
  auto actor = StartWithActor(kBound + "checkpoint.every_steps=4");
  Play(*actor);
  SendState(*actor, "the state");
  ASSERT_TRUE(
      actor->Await([&] { return Newest().checkpoint && Newest().checkpoint->version == 1; }));
  ASSERT_THAT(Newest().checkpoint->actors->actors, SizeIs(1));
  actor->beats = false;
  Discard();

  Start(kBound, /*resume=*/true);
  actor = NewActor(0);
  EXPECT_EQ(actor->welcome.state, 9u);
  actor->Send(wire::FetchState{0});
  const auto part = actor->Wait(wire::Kind::kState);
  ASSERT_TRUE(part);
  EXPECT_EQ(std::get<wire::State>(part->body).bytes, "the state");
  EXPECT_EQ(actor->header.incarnation, wire::MakeIncarnation(2, 0));
}

// Its actors may not have come back, or have gone: the states on the disk are not replaced.
TEST_F(LearnerCutsTest, ALearnerThatAppliesNothingKeepsTheCutThatItCameFrom) {
  const auto actor = StartWithActor(kBound + "checkpoint.cut_s=60");
  const wire::Grant grant = actor->NextGrant();
  AskToStop();  // before the gradient: it brings no other grant then
  actor->Push(grant, 0.25f);
  SendState(*actor, "the state");
  Wait();
  Discard();
  for (const bool joins : {false, true}) {
    Start(kBound, /*resume=*/true);
    const auto again = joins ? NewActor(0) : nullptr;
    if (again) again->NextGrant();
    Discard();
    EXPECT_EQ(LastCheckpoint().term, 1u);
    EXPECT_THAT(Newest().checkpoint->actors->actors, SizeIs(1));
  }
}

TEST_F(LearnerCutsTest, AnActorWithoutAStateMakesNoCut) {
  const auto actor = StartWithActor(kBound + "checkpoint.every_steps=4");
  Play(*actor);
  SendState(*actor, "");
  const auto wrote = [&] {
    return std::filesystem::exists(dir_ / "checkpoints" / learner::CheckpointName(1, 1));
  };
  ASSERT_TRUE(actor->Await(wrote));
  EXPECT_EQ(Newest().checkpoint->version, 0u);
}

TEST_F(LearnerCutsTest, AStopWaitsForTheGradientsOnTheirWayAndForTheStates) {
  const auto actor = StartWithActor(kBound + "checkpoint.cut_s=60");
  const wire::Grant grant = actor->NextGrant();
  AskToStop();
  actor->Synchronize();
  actor->Push(grant, 0.25f);
  SendState(*actor, "the state");
  Wait();
  EXPECT_EQ(LastCheckpoint().version, 1u);
  const auto cut = Newest();
  EXPECT_EQ(cut.checkpoint->version, 1u);
  ASSERT_THAT(cut.checkpoint->actors->actors, SizeIs(1));
  EXPECT_EQ(cut.checkpoint->actors->actors[0].slot, 0u);
}

TEST_F(LearnerCutsTest, AStopDoesNotWaitForAnActorThatComputesForever) {
  const auto actor = StartWithActor(kBound + "checkpoint.cut_s=0.01");
  actor->NextGrant();
  Stop();
  EXPECT_EQ(Newest().checkpoint->version, 0u);
}

// As the end of a job does, which stops all processes at once: the update of the others alone would
// not be that of a run that goes on.
TEST_F(LearnerCutsTest, AnActorThatLeavesAtTheEndWithoutItsGradientMakesNoUpdate) {
  Start("updates.start_with=2\nstaleness.bound=0\ncheckpoint.cut_s=60");
  const auto stays = NewActor(), leaves = NewActor();
  const wire::Grant grant = stays->NextGrant();
  leaves->NextGrant();
  AskToStop();
  stays->Synchronize();
  stays->Push(grant, 0.25f);
  leaves->Send(wire::Leave{});
  Wait();
  EXPECT_EQ(counters().applied, 0u);
  EXPECT_EQ(LastCheckpoint().version, 0u);
}

// Its goodbye is here before the learner's loop has seen the signal: no actor is left to be asked.
TEST_F(LearnerCutsTest, AnActorThatIsHeardBeforeTheStopLeavesWithTheLearner) {
  std::atomic<bool> holds = false;
  std::binary_semaphore held{0}, released{0};
  abandoned_ = [&] {
    if (holds.exchange(false)) {
      held.release();
      released.acquire();
    }
    return false;
  };
  const auto actor = StartWithActor(kBound);
  Play(*actor);
  actor->NextGrant();
  holds = true;
  held.acquire();
  actor->Send(wire::Leave{});
  AskToStop();
  released.release();
  Discard();
  EXPECT_EQ(LastCheckpoint().version, 1u);
  EXPECT_EQ(Newest().checkpoint->version, 0u) << "a cut of no actors";
}

TEST_F(LearnerCutsTest, TheEndOfARunIsOne) {
  const auto actor = StartWithActor(kBound + "run.steps=4");
  Play(*actor);
  SendState(*actor, "at the end");
  Wait();
  EXPECT_TRUE(over_);
  EXPECT_EQ(Newest().checkpoint->version, 1u);
}

}  // namespace
}  // namespace starling
