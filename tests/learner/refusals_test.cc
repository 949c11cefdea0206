// Errors of a peer, over a real socket: they are refused and counted by reason, never write to the
// weights, and do not disturb the other actors. tests/learner/engine_test.cc has every refusal of a
// gradient.
#include <gmock/gmock.h>

#include <algorithm>

#include "learner/storage/journal_reader.h"
#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::FloatNear;

class RefusalsTest : public LearnerFixture {
 protected:
  void SetUp() override {
    Start("updates.start_with=1\nupdates.max_norm=100\nstaleness.deadline_s=600");
    actor_ = NewActor();
    grant_ = actor_->NextGrant();
  }

  // The message is counted as `refusal` and not applied; its sender is told to leave.
  void ExpectLeave(wire::LeaveReason reason, const char* refusal) {
    EXPECT_EQ(actor_->NextLeave().reason, reason);
    Stop();
    EXPECT_EQ(counters().frames_refused.at(refusal), 1u);
    EXPECT_THAT(LastCheckpoint().weights, Each(0.0f));
  }

  std::unique_ptr<FakeActor> actor_;
  wire::Grant grant_;
};

TEST_F(RefusalsTest, NotANumberInABuffer) {
  const wire::GradientBuffersClient buffers(actor_->welcome.buffers, kFloats);
  std::ranges::fill(buffers.floats(0), 1.0f);
  buffers.floats(0)[17] = std::nanf("");
  actor_->Send(wire::Gradient{.grant = grant_.number, .buffer = 1, .samples = 4});
  EXPECT_EQ(actor_->NextOutcome().outcome, wire::Outcome::kNotFinite);
  TrainOnce(1.0f);
  Stop();
  EXPECT_EQ(Dropped("not_finite"), 1u);
  EXPECT_EQ(counters().received, counters().applied + counters().dropped_total());
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
}

using GivingUpTest = LearnerFixture;

TEST_F(GivingUpTest, ARunWhoseGradientsAreAllRefusedEndsWithItsWeightsSaved) {
  refusal_limits_ = {.count = 3, .ms = 0};
  const auto actor = StartWithActor("updates.start_with=1\nupdates.max_norm=100");
  for (const float value : {1000.0f, 1000.0f, 1.0f, 1000.0f, 1000.0f, 1000.0f}) {
    actor->Push(actor->NextGrant(), value);
  }
  Wait();
  EXPECT_FALSE(over_);
  EXPECT_THAT(learner_->gave_up(), testing::HasSubstr("all 3 gradients"));
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
}

TEST_F(RefusalsTest, AnotherNet) {
  ++actor_->header.fingerprint;
  actor_->Push(grant_, 3.0f);
  ExpectLeave(wire::LeaveReason::kRefused, "fingerprint");
}

TEST_F(RefusalsTest, TooFewElements) {
  actor_->Push(grant_, 0, std::vector<float>(kFloats - 16, 3.0f));
  ExpectLeave(wire::LeaveReason::kRefused, "count");
}

TEST_F(RefusalsTest, AMemberWithADamagedMessageMayRejoin) {
  actor_->header.version = 0;
  ++actor_->header.sequence;
  const std::vector<float> values(kFloats, 3.0f);
  wire::Frames frames =
      wire::Encode(actor_->header, wire::Gradient{.grant = grant_.number, .samples = 4}, values);
  std::vector<float> flipped = values;
  flipped[3] = 4.0f;
  frames.tensor = std::as_bytes(std::span(flipped));
  actor_->SendFrames(frames);
  ExpectLeave(wire::LeaveReason::kLeaving, "checksum");
}

TEST_F(RefusalsTest, AThousandRandomMessages) {
  std::uint32_t state = 12345;
  const auto random = [&state] { return state = state * 1664525u + 1013904223u; };
  const auto stranger = NewPeer();
  for (int i = 0; i < 1000; ++i) {
    wire::Frames frames = wire::Encode(actor_->header, wire::Heartbeat{});
    for (int flips = 0; flips < 4; ++flips) {
      frames.header[random() % frames.header.size()] ^= static_cast<std::byte>(1 + random() % 255);
    }
    frames.fields.assign(random() % 64, static_cast<char>(random()));
    stranger->SendFrames(frames);
  }
  actor_->Push(grant_, 1.0f);
  EXPECT_EQ(actor_->NextGrant().version, 1u);
  Stop();
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : counters().frames_refused) refused += count;
  EXPECT_GE(refused, 1u);
  EXPECT_EQ(counters().received, 1u);
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
}

TEST_F(RefusalsTest, TenThousandHellosOfOneConnectionAreOneIncarnationAndFewLogLines) {
  testing::internal::CaptureStderr();
  const auto peer = NewActor();
  const wire::Grant grant = peer->NextGrant();
  const std::uint32_t incarnation = peer->header.incarnation;
  for (int i = 0; i < 10'000; ++i) peer->Join(i);  // asks for slot i
  EXPECT_EQ(peer->header.incarnation, incarnation);
  EXPECT_EQ(peer->NextGrant().number, grant.number);  // sent again, still live
  peer->Push(grant, 1.0f);
  EXPECT_EQ(peer->NextOutcome().outcome, wire::Outcome::kApplied);
  Stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_LT(std::ranges::count(log, '\n'), 200);
  EXPECT_LT(std::filesystem::file_size(dir_ / "journal" / SegmentName(1, 0)), 4096u);
  EXPECT_THAT(LastCheckpoint().weights, Each(FloatNear(-1.0f, 1e-6f)));
}

TEST_F(RefusalsTest, AThousandJoinsAndLeavesAreFewLogLines) {
  testing::internal::CaptureStderr();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  const auto peer = NewPeer();
  for (int i = 0; i < 1000; ++i) {
    peer->Join();
    peer->Send(wire::Leave{});
  }
  peer->Join();
  Stop();
  const std::int64_t periods = (clock.NowMs() - begin) / 10'000;
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_LT(std::ranges::count(log, '\n'), 150 * (periods + 1));  // 100 of them and the rest
}

TEST_F(RefusalsTest, MessagesThatOnlyALearnerSends) {
  actor_->Send(wire::Welcome{});
  actor_->Send(wire::Answer{});
  actor_->Push(grant_, 1.0f);
  EXPECT_EQ(actor_->NextGrant().version, 1u);
  Stop();
  EXPECT_EQ(counters().frames_refused.at("kind"), 2u);
}

}  // namespace
}  // namespace starling::learner
