// A run whose gradients and weights travel in bf16. The learner computes with f32.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::Each;

constexpr const char* kTcp = "\nwire.endpoint=tcp://127.0.0.1:0";

class Bf16RunTest : public LearnerFixture {
 protected:
  void StartInBf16(const std::string& more = "") {
    Start("updates.start_with=1\nupdates.max_norm=100\nwire.gradient=bf16\nwire.weights=bf16" +
          more);
    actor_ = NewPeer();
    actor_->sends = actor_->receives = wire::ElementType::kBf16;
    actor_->Join();
  }
  wire::Outcome Push(float value) {
    actor_->Push(actor_->NextGrant(), value);
    return actor_->NextOutcome().outcome;
  }

  // A gradient whose elements are of another type than the run's changes nothing.
  void ExpectRefused(FakeActor& actor, wire::ElementType type) {
    const wire::Grant grant = actor.NextGrant();
    actor.sends = type;
    actor.Push(grant, 3.0f);
    EXPECT_EQ(actor.NextLeave().reason, wire::LeaveReason::kLeaving);
    Stop();
    EXPECT_EQ(counters().frames_refused.at("element_type"), 1u);
    EXPECT_THAT(LastCheckpoint().weights, Each(0.0f));
  }

  std::unique_ptr<FakeActor> actor_;
};

// 2^-9 is lost beside 1 in bf16, which has 8 bits, but not in f32.
TEST_F(Bf16RunTest, TheLearnersOwnWeightsAreF32) {
  StartInBf16(kTcp);
  EXPECT_EQ(Push(1.0f), wire::Outcome::kApplied);
  EXPECT_EQ(Push(0x1p-9f), wire::Outcome::kApplied);
  actor_->Send(wire::Fetch{.version = 2});
  auto weights = actor_->Wait(wire::Kind::kWeights);
  while (weights && weights->header.version < 2) weights = actor_->Wait(wire::Kind::kWeights);
  ASSERT_TRUE(weights);
  EXPECT_THAT(weights->tensor, Each(-1.0f));
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(-(1 + 0x1p-9f)));
}

// The largest float is out of the range of bf16.
TEST_F(Bf16RunTest, WhatIsNotFiniteIsRefused) {
  StartInBf16(kTcp);
  for (const float value :
       {std::nanf(""), std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
    EXPECT_EQ(Push(value), wire::Outcome::kNotFinite) << value;
  }
  EXPECT_EQ(Push(1000.0f), wire::Outcome::kNormTooLarge);
  EXPECT_EQ(Push(0.5f), wire::Outcome::kApplied);
  Stop();
  EXPECT_EQ(Dropped("not_finite"), 3u);
  EXPECT_EQ(Dropped("norm_too_large"), 1u);
  EXPECT_THAT(LastCheckpoint().weights, Each(-0.5f));
}

TEST_F(Bf16RunTest, AGradientInF32IsRefusedAndCounted) {
  StartInBf16();
  ExpectRefused(*actor_, wire::ElementType::kF32);
}

TEST_F(Bf16RunTest, AGradientInBf16IsRefusedInARunOfF32) {
  const auto actor = StartWithActor();
  ExpectRefused(*actor, wire::ElementType::kBf16);
}

// Widened and checked beside the network thread.
TEST_F(Bf16RunTest, OfALargeNet) {
  floats_ = 1 << 20;
  StartInBf16(std::string(kTcp) + "\nupdates.max_norm=10000");
  EXPECT_EQ(Push(0.5f), wire::Outcome::kApplied);
  EXPECT_EQ(Push(std::nanf("")), wire::Outcome::kNotFinite);
  EXPECT_EQ(Push(0.5f), wire::Outcome::kApplied);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(-1.0f));
}

}  // namespace
}  // namespace starling::learner
