// What actors of other machines hear at the end of a run. They may wait for another learner (a
// supervisor of theirs starts them again and again), so it must be true, and all must hear it.
#include <gtest/gtest.h>

#include "learner/storage/checkpoint.h"
#include "tests/support/learner_fixture.h"
#include "tests/support/slow_disk.h"

namespace starling::learner {
namespace {

class LearnerEndTest : public LearnerFixture {
 protected:
  static constexpr const char* kOverTcp =
      "updates.start_with=1\nrun.steps=4\nwire.endpoint=tcp://127.0.0.1:0\n"
      "wire.timeout_s=3600\nwire.heartbeat_ms=50";  // nothing here is left to a deadline
  // A run of one update, with one of its two actors.
  std::unique_ptr<FakeActor> FinishWithOneActor() {
    auto actor = StartWithActor(kOverTcp);
    actor->Push(actor->NextGrant(), 0.25f);
    return actor;
  }
};

TEST_F(LearnerEndTest, AnActorThatComesLateHearsThatTheRunIsOver) {
  const auto actor = FinishWithOneActor();
  EXPECT_EQ(actor->NextLeave().reason, wire::LeaveReason::kRunOver);
  EXPECT_EQ(LastCheckpoint().version, 1u) << "it was told before the checkpoint was there";
  const auto late = NewPeer();
  late->Send(wire::Hello{.host = "test", .pid = 1});
  EXPECT_EQ(late->NextLeave().reason, wire::LeaveReason::kRunOver);
  Wait();  // all have heard it
  EXPECT_TRUE(over_);
}

// A learner that was killed behind its last update: the next has nothing to do.
TEST_F(LearnerEndTest, SoDoesOneOfALearnerThatWasKilledIfTheNextIsAtItsGoal) {
  {
    const auto actor = FinishWithOneActor();
    actor->NextLeave();
    const auto late = NewPeer();
    late->Send(wire::Hello{.host = "test", .pid = 1});
  }
  Discard();
  Start(kOverTcp, /*resume=*/true);
  const auto asks = NewPeer(), beats = NewPeer();
  asks->Send(wire::Hello{.host = "test", .pid = 1});
  beats->header.slot = 1, beats->header.incarnation = 7, beats->header.term = 1;
  beats->Beat();  // it has not noticed yet
  EXPECT_EQ(asks->NextLeave().reason, wire::LeaveReason::kRunOver);
  EXPECT_EQ(beats->NextLeave().reason, wire::LeaveReason::kRunOver);
  Wait();
}

TEST_F(LearnerEndTest, ALearnerThatIsToldToStopWaitsForNobody) {
  const auto actor = FinishWithOneActor();
  actor->NextLeave();
  Stop();
  EXPECT_TRUE(over_);
}

TEST_F(LearnerEndTest, MembersAreAnsweredWhileTheLastCheckpointIsWritten) {
  Start(kOverTcp);
  const auto actor = NewActor();
  while (ListCheckpoints(dir_ / "checkpoints").empty()) std::this_thread::yield();
  SlowDisk disk(dir_.path());
  actor->Push(actor->NextGrant(), 0.25f);
  const auto done = [this] { return LastPublished() && LastPublished()->status.phase == "done"; };
  while (!done()) std::this_thread::yield();
  actor->beats = false;
  actor->Synchronize();  // it is over, and a heartbeat is answered
  while (!disk.TryEnd()) actor->Synchronize();
  EXPECT_EQ(actor->NextLeave().reason, wire::LeaveReason::kRunOver);
}

// The next learner would need them.
TEST_F(LearnerEndTest, WithoutItsLastCheckpointARunIsNotOver) {
  Start(kOverTcp);
  const auto actor = NewActor();
  while (ListCheckpoints(dir_ / "checkpoints").empty()) std::this_thread::yield();
  std::filesystem::create_directories(dir_ / "checkpoints" / CheckpointName(1, 1) / "in the way");
  actor->Push(actor->NextGrant(), 0.25f);
  const wire::Leave leave = actor->NextLeave();
  EXPECT_EQ(leave.reason, wire::LeaveReason::kShuttingDown);
  EXPECT_EQ(leave.text, "the last checkpoint could not be written");
  Wait();  // for nobody
  EXPECT_NE(learner_->checkpoint_error(), "");
}

}  // namespace
}  // namespace starling::learner
