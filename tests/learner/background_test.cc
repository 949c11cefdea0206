// Work that is done beside the network thread, and a learner whose net is large enough for it.
#include "learner/background.h"

#include <gmock/gmock.h>

#include <cmath>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/learner_fixture.h"
#include "wire/gradient_buffers.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(Background, ASmallJobIsDoneAtOnce) {
  Background background(/*threaded=*/false, [] {});
  std::string done;
  background.Run([&] { done += "work "; }, [&] { done += "then"; });
  EXPECT_EQ(done, "work then");
  EXPECT_TRUE(background.idle());
}

TEST(Background, WhatFollowsRunsHereInTheOrderOfTheJobs) {
  constexpr int kJobs = 100;
  std::counting_semaphore<> done{0};
  Background background(/*threaded=*/true, [&] { done.release(); });
  std::vector<int> followed;
  const auto here = std::this_thread::get_id();
  for (int i = 0; i < kJobs; ++i) {
    background.Run([here] { EXPECT_NE(std::this_thread::get_id(), here); },
                   [&followed, here, i] {
                     EXPECT_EQ(std::this_thread::get_id(), here);
                     followed.push_back(i);
                   });
  }
  EXPECT_TRUE(followed.empty());
  while (!background.idle()) {
    done.acquire();
    background.Finish();
  }
  ASSERT_EQ(followed.size(), static_cast<std::size_t>(kJobs));
  EXPECT_TRUE(std::ranges::is_sorted(followed));
}

TEST(Background, WorkThatHasNotBegunIsDropped) {
  std::binary_semaphore begun{0}, go_on{0};
  int done = 0;
  {
    Background background(/*threaded=*/true, [] {});
    background.Run([&] { begun.release(), go_on.acquire(), ++done; }, [] {});
    begun.acquire();
    background.Run([&] { ++done; }, [] {});
    std::jthread later([&] { go_on.release(); });
  }
  EXPECT_LE(done, 2);
}

// 4 MB, checked and copied beside the network thread.
class LargeNetTest : public LearnerFixture {
 protected:
  LargeNetTest() { floats_ = 1 << 20; }
};

TEST_F(LargeNetTest, GradientsInSharedMemory) {
  const auto actor = StartWithActor();
  const auto push = [&](float value) {
    const wire::GradientBuffersClient buffers(actor->welcome.buffers, floats_);
    std::ranges::fill(buffers.floats(0), 0.5f);
    buffers.floats(0)[floats_ - 1] = value;
    const wire::Grant grant = actor->NextGrant();
    actor->header.version = grant.version;
    actor->Send(wire::Gradient{.grant = grant.number, .buffer = 1, .samples = 4});
    return actor->NextOutcome().outcome;
  };
  EXPECT_EQ(push(0.5f), wire::Outcome::kApplied);
  EXPECT_EQ(push(std::nanf("")), wire::Outcome::kNotFinite);
  EXPECT_EQ(push(0.5f), wire::Outcome::kApplied);
  Stop();
  EXPECT_THAT(LastCheckpoint().weights, Each(-1.0f));
}

TEST_F(LargeNetTest, GradientsAndWeightsOverTcp) {
  const auto actor = StartWithActor("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  actor->wants_weights = true;
  actor->Send(wire::Fetch{.version = 0});
  for (int i = 1; i <= 3; ++i) {
    const wire::Grant grant = actor->NextGrant();
    const auto weights = actor->Wait(wire::Kind::kWeights);  // behind the grant
    ASSERT_TRUE(weights);
    EXPECT_GE(weights->header.version, grant.version);
    EXPECT_EQ(weights->tensor[floats_ - 1], -0.5f * static_cast<float>(weights->header.version));
    actor->Push(grant, 0.5f);
    EXPECT_EQ(actor->NextOutcome().outcome, wire::Outcome::kApplied);
  }
}

TEST_F(LargeNetTest, TheLastMessageOfAnActorComesAfterItsGradient) {
  const auto actor = StartWithActor("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  actor->Push(actor->NextGrant(), 0.5f);
  actor->Send(wire::Leave{});
  const auto next = NewActor();
  EXPECT_GE(next->NextGrant().version, 0u);
  EXPECT_TRUE(next->Await([&] {
    const auto published = LastPublished();
    return published && published->status.gradients.applied == 1;
  }));
  Stop();
  EXPECT_EQ(counters().applied, 1u);
  EXPECT_EQ(counters().dropped_total(), 0u);
}

TEST_F(LargeNetTest, AGarbledGradientIsFound) {
  const auto actor = StartWithActor("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0");
  const wire::Grant grant = actor->NextGrant();
  ++actor->header.sequence;
  wire::Frames frames =
      wire::Encode(actor->header, wire::Gradient{.grant = grant.number, .samples = 4},
                   std::vector<float>(floats_));
  const std::vector<float> others(floats_, 1.0f);
  frames.tensor = std::as_bytes(std::span(others));
  actor->SendFrames(frames);
  EXPECT_EQ(actor->NextLeave().reason, wire::LeaveReason::kLeaving);
  Stop();
  EXPECT_EQ(counters().frames_refused.at("checksum"), 1u);
}

}  // namespace
}  // namespace starling::learner
