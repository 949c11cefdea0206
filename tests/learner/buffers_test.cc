// Gradients in memory that an actor shares with the learner.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/learner_fixture.h"
#include "wire/gradient_buffers.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

class BuffersTest : public LearnerFixture {
 protected:
  // Pushes a gradient in the first buffer of `actor`; every value is `value`.
  void Push(FakeActor& actor, const wire::Grant& grant, float value) {
    const wire::GradientBuffersClient buffers(actor.welcome.buffers, kFloats);
    std::ranges::fill(buffers.floats(0), value);
    actor.header.version = grant.version;
    actor.Send(wire::Gradient{.grant = grant.number, .buffer = 1, .samples = 4});
  }
};

TEST_F(BuffersTest, AGradientInABufferIsAppliedAndFreesIt) {
  const auto actor = StartWithActor();
  for (int i = 0; i < 3; ++i) Push(*actor, actor->NextGrant(), 0.25f);
  actor->NextGrant();
  EXPECT_EQ(actor->outcomes, std::vector<wire::Outcome>(3, wire::Outcome::kApplied));
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-0.75f, 1e-6f)));
}

TEST_F(BuffersTest, EveryActorHasOneBufferForEachGrant) {
  Start("updates.in_flight=3");
  const auto a = NewActor(), b = NewActor();
  EXPECT_NE(a->welcome.buffers, b->welcome.buffers);
  wire::GradientBuffersClient buffers(a->welcome.buffers, kFloats);
  std::uint64_t pushes = 0;
  while (const auto free = buffers.Free()) buffers.Pushed(*free, ++pushes);
  EXPECT_EQ(pushes, 3u);
}

TEST_F(BuffersTest, ABufferThatIsInUseIsRefused) {
  Start("staleness.bound=0");
  const auto a = NewActor(), b = NewActor();
  const wire::Grant grant = a->NextGrant();
  Push(*a, grant, 1.0f);  // held until b pushes
  Push(*a, grant, 1.0f);
  EXPECT_EQ(a->NextOutcome().outcome, wire::Outcome::kNoBuffer);
  b->Push(b->NextGrant(), 1.0f);  // in its message: one update of both kinds
  EXPECT_EQ(a->NextOutcome().outcome, wire::Outcome::kMerged);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
  EXPECT_EQ(Dropped("no_buffer"), 1u);
}

TEST_F(BuffersTest, AGradientIsAppliedAfterItsActorHasLeft) {
  Start("staleness.bound=0");
  auto a = NewActor();
  const auto b = NewActor();
  const std::string path = a->welcome.buffers;
  Push(*a, a->NextGrant(), 3.0f);
  a->Send(wire::Leave{});
  a->Synchronize();
  b->Push(b->NextGrant(), 1.0f);
  EXPECT_EQ(b->NextOutcome().outcome, wire::Outcome::kMerged);
  EXPECT_FALSE(std::filesystem::exists(path)) << "removed with its actor";
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-2.0f, 1e-6f)));
}

// As with a full /dev/shm; here another file has the name of the buffer.
TEST_F(BuffersTest, WithoutSharedMemoryGradientsComeInMessages) {
  Start();
  const auto place = wire::RuntimeDir::Find(root(), dir_.path());
  const std::uint32_t incarnation = 1u << 16;  // the first of slot 0 in term 1
  std::ofstream(place.endpoint_file.parent_path() / fmt::format("gradients-0-{}", incarnation));
  const auto actor = NewActor();
  ASSERT_EQ(actor->header.incarnation, incarnation) << "the file above has another name";
  EXPECT_EQ(actor->welcome.buffers, "");
  actor->Push(actor->NextGrant(), 0.5f);
  EXPECT_EQ(actor->NextOutcome().outcome, wire::Outcome::kApplied);
}

TEST_F(BuffersTest, ThereAreNoBuffersOverTcp) {
  const auto actor = StartWithActor("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  EXPECT_EQ(actor->welcome.buffers, "");
  actor->Send(wire::Gradient{.grant = actor->NextGrant().number, .buffer = 1, .samples = 4});
  EXPECT_EQ(actor->NextOutcome().outcome, wire::Outcome::kNoBuffer);
}

}  // namespace
}  // namespace starling::learner
