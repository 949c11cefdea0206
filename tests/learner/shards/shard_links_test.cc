// A learner of two shards, both in threads of the test, and actors that send a slice to each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "learner/shards/shard.h"
#include "tests/support/error_of.h"
#include "tests/support/learner_fixture.h"
#include "wire/keys.h"

namespace starling::learner {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;

class ShardsTest : public LearnerFixture {
 protected:
  static constexpr std::size_t kSlice = kFloats / 2;

  ~ShardsTest() override { StopAll(); }

  void StartBoth(const std::string& more = "updates.start_with=1") {
    Start("learner.shards=2\n" + more);
    shard_thread_ = std::thread([this] {
      learner::Shard shard(config_, SmallNet().layout,
                           {.run_dir = dir_.path(), .learner = learner_->shards_endpoint()});
      ended_in_order_ = shard.Run();
    });
  }
  void StopAll() {
    Stop();
    if (shard_thread_.joinable()) shard_thread_.join();
  }

  // An actor with a connection to each shard.
  struct Actor {
    std::unique_ptr<FakeActor> learner, shard;

    std::uint64_t PushFirst(const wire::Grant& grant, float value) {
      learner->Push(grant, value);
      return learner->header.sequence;
    }
    void PushSecond(std::uint64_t gradient, float value, std::uint64_t base = 0) {
      shard->header = learner->header;
      shard->header.version = base;
      shard->Send(wire::GradientSlice{gradient}, std::vector<float>(kSlice, value));
    }
    void Push(const wire::Grant& grant, float first, float second) {
      PushSecond(PushFirst(grant, first), second, grant.version);
    }
  };
  Actor NewOne(const std::optional<wire::Credentials>& keys = {}) {
    const auto peer = [&](const std::string& endpoint) {
      return std::make_unique<FakeActor>(endpoint, kSlice, keys);
    };
    Actor actor{peer(Endpoint()), {}};
    actor.learner->Join();
    const auto& shards = actor.learner->welcome.shards;
    EXPECT_EQ(shards.size(), 1u);
    if (shards.empty()) return actor;
    actor.shard = peer(shards[0].endpoint);
    actor.shard->beats = false;  // heartbeats go to shard 0 only
    return actor;
  }
  std::vector<float> Weights() {
    StopAll();
    return LastCheckpoint().weights;
  }
  static std::vector<float> Halves(float first, float second) {
    std::vector<float> all(kSlice, first);
    all.resize(kFloats, second);
    return all;
  }

  std::thread shard_thread_;
  bool ended_in_order_ = false;
};

TEST_F(ShardsTest, EachShardAppliesItsSlice) {
  StartBoth();
  Actor actor = NewOne();
  actor.Push(actor.learner->NextGrant(), 1.0f, 2.0f);
  EXPECT_EQ(actor.learner->NextGrant().version, 1u);
  EXPECT_EQ(Weights(), Halves(-1.0f, -2.0f));
  EXPECT_TRUE(ended_in_order_);
  EXPECT_EQ(counters().applied, 1u);
  EXPECT_EQ(LastCheckpoint().version, 1u);
  EXPECT_EQ(LastCheckpoint().steps, 4u);
}

TEST_F(ShardsTest, AGradientIsJudgedWhenAllSlicesHaveArrived) {
  StartBoth();
  Actor actor = NewOne();
  const wire::Grant grant = actor.learner->NextGrant();
  const std::uint64_t gradient = actor.PushFirst(grant, 1.0f);
  actor.learner->Synchronize();
  actor.PushSecond(gradient, 1.0f);
  EXPECT_EQ(actor.learner->NextGrant().version, 1u);
  StopAll();
  EXPECT_EQ(counters().received, 1u);
}

// The mean of two, summed in the order of the slots in both slices: 1/2 (1 + 3) and 1/2 (2 + 6).
TEST_F(ShardsTest, MergedGradientsAreMergedInEverySlice) {
  StartBoth("staleness.bound=0\nupdates.start_with=2");
  Actor one = NewOne(), two = NewOne();
  const wire::Grant first = one.learner->NextGrant(), second = two.learner->NextGrant();
  two.Push(second, 3.0f, 6.0f);
  one.Push(first, 1.0f, 2.0f);
  EXPECT_EQ(one.learner->NextGrant().version, 1u);
  EXPECT_EQ(two.learner->NextGrant().version, 1u);
  EXPECT_EQ(Weights(), Halves(-2.0f, -4.0f));
}

// The second gradient is one version old when it is applied, and says so to every slice: with w - b
// = -1 it is 1 + 0.5 * 1 * -1, with -2 it is 2 + 0.5 * 4 * -2.
TEST_F(ShardsTest, AStaleGradientIsMendedInEverySlice) {
  StartBoth(
      "updates.start_with=2\nstaleness.bound=4\nstaleness.correction=delay_compensated\n"
      "staleness.compensation=0.5");
  Actor one = NewOne(), two = NewOne();
  const wire::Grant first = one.learner->NextGrant(), second = two.learner->NextGrant();
  one.Push(first, 1.0f, 2.0f);
  EXPECT_EQ(one.learner->NextGrant().version, 1u);
  two.Push(second, 1.0f, 2.0f);
  EXPECT_EQ(two.learner->NextGrant().version, 2u);
  EXPECT_EQ(Weights(), Halves(-1.5f, 0.0f));  // -1 - 0.5, -2 - (-2)
}

TEST_F(ShardsTest, WeightsOfAShardCanBeFetched) {
  StartBoth();
  Actor actor = NewOne();
  actor.Push(actor.learner->NextGrant(), 1.0f, 2.0f);
  ASSERT_EQ(actor.learner->NextGrant().version, 1u);
  actor.shard->Send(wire::Fetch{.version = 1});
  const auto weights = actor.shard->Wait(wire::Kind::kWeights);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->header.version, 1u);
  EXPECT_THAT(weights->tensor, Each(FloatEq(-2.0f)));
}

TEST_F(ShardsTest, AGradientThatIsNotFiniteInAnySliceIsRefused) {
  StartBoth();
  Actor actor = NewOne();
  actor.Push(actor.learner->NextGrant(), 1.0f, std::nanf(""));
  const wire::Grant again = actor.learner->NextGrant();
  EXPECT_THAT(actor.learner->outcomes, ElementsAre(wire::Outcome::kNotFinite));
  actor.Push(again, 1.0f, 1.0f);
  EXPECT_EQ(actor.learner->NextGrant().version, 1u);
  EXPECT_EQ(Weights(), Halves(-1.0f, -1.0f));
}

// The norm of 16 ones is 4, that of 16 values 0.75 is 3; of both together 5.
TEST_F(ShardsTest, TheNormIsThatOfAllSlices) {
  StartBoth("updates.start_with=1\nupdates.max_norm=4.99");
  Actor actor = NewOne();
  actor.Push(actor.learner->NextGrant(), 1.0f, 0.75f);
  const wire::Grant again = actor.learner->NextGrant();
  EXPECT_THAT(actor.learner->outcomes, ElementsAre(wire::Outcome::kNormTooLarge));
  actor.Push(again, 1.0f, 0.5f);
  EXPECT_EQ(actor.learner->NextGrant().version, 1u);
}

// Neither an incomplete gradient of an actor that has left nor a slice without a gradient ends or
// blocks anything.
TEST_F(ShardsTest, IncompleteGradientsAreDiscarded) {
  StartBoth();
  Actor dead = NewOne();
  const wire::Grant never = dead.learner->NextGrant();
  dead.PushSecond(77, 5.0f);
  dead.PushFirst(never, 5.0f);
  dead.learner->Send(wire::Leave{wire::LeaveReason::kLeaving, ""});
  dead.PushSecond(78, 5.0f);
  Actor actor = NewOne();
  for (int i = 0; i < 3; ++i) actor.Push(actor.learner->NextGrant(), 1.0f, 1.0f);
  EXPECT_EQ(actor.learner->NextGrant().version, 3u);
  EXPECT_EQ(Weights(), Halves(-3.0f, -3.0f));
  EXPECT_EQ(counters().received, 3u);
}

// The same slot and sequence in another term name another gradient.
TEST_F(ShardsTest, AHeldSliceIsNotReplaced) {
  StartBoth("staleness.bound=0\nupdates.start_with=2");
  Actor one = NewOne(), two = NewOne();
  const wire::Grant first = one.learner->NextGrant(), second = two.learner->NextGrant();
  one.Push(first, 1.0f, 1.0f);
  one.learner->Synchronize();
  one.learner->header.sequence -= 1;
  one.learner->header.term += 1;
  one.learner->Push(first, 9.0f);
  one.learner->header.term -= 1;
  one.learner->Synchronize();
  two.Push(second, 1.0f, 1.0f);
  EXPECT_EQ(one.learner->NextGrant().version, 1u);
  EXPECT_EQ(Weights(), Halves(-1.0f, -1.0f));
}

TEST_F(ShardsTest, SlicesOfOthersDoNotBlockASlot) {
  StartBoth();
  Actor actor = NewOne(), other = NewOne();
  const wire::Header own = other.learner->header;
  other.learner->header.slot = actor.learner->header.slot;
  other.learner->header.incarnation = UINT32_MAX;
  other.PushSecond(UINT64_MAX, 9.0f);
  other.learner->header = own;
  other.shard->Send(wire::Fetch{});
  ASSERT_TRUE(other.shard->Wait(wire::Kind::kWeights));  // so its slice has been handled
  actor.Push(actor.learner->NextGrant(), 1.0f, 1.0f);
  EXPECT_EQ(actor.learner->NextGrant().version, 1u);
}

// Eve's slice is not applied, and Ada's is not refused because of it.
TEST_F(ShardsTest, AListedKeyCannotSendSlicesForAnotherActor) {
  TempDir keys;
  const wire::KeyPair own = wire::NewKeyPair(), ada = wire::NewKeyPair(), eve = wire::NewKeyPair();
  const auto secret = wire::WriteKeyFiles(keys.path(), "learner", own).secret_file;
  std::filesystem::create_directory(keys / "allowed");
  wire::WriteKeyFiles(keys / "allowed", "ada", ada);
  wire::WriteKeyFiles(keys / "allowed", "eve", eve);
  StartBoth("updates.start_with=1\nwire.endpoint=tcp://127.0.0.1:0\nwire.secret=" +
            secret.string() + "\nwire.allowed=" + (keys / "allowed").string());
  Actor of_ada = NewOne(wire::Credentials{ada, own.public_key});
  Actor of_eve = NewOne(wire::Credentials{eve, own.public_key});
  const wire::Grant grant = of_ada.learner->NextGrant();
  of_eve.learner->header = of_ada.learner->header;
  of_eve.PushSecond(of_ada.learner->header.sequence + 1, 9.0f);
  of_eve.shard->Send(wire::Fetch{});
  ASSERT_TRUE(of_eve.shard->Wait(wire::Kind::kWeights));  // so the slice has been handled
  of_ada.Push(grant, 1.0f, 1.0f);
  EXPECT_EQ(of_ada.learner->NextGrant().version, 1u);
  EXPECT_EQ(Weights(), Halves(-1.0f, -1.0f));
  EXPECT_EQ(counters().frames_refused.at("another_key"), 1u);
}

// Some may be skipped if the disk is slow; the last is always written.
TEST_F(ShardsTest, IntermediateCheckpointsAreComplete) {
  StartBoth("updates.start_with=1\ncheckpoint.every_steps=4\ncheckpoint.keep=100");
  Actor actor = NewOne();
  for (int i = 0; i < 30; ++i) actor.Push(actor.learner->NextGrant(), 1.0f, 2.0f);
  ASSERT_EQ(actor.learner->NextGrant().version, 30u);
  StopAll();
  for (const auto& path : learner::ListCheckpoints(dir_ / "checkpoints")) {
    const learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
    const auto version = static_cast<float>(checkpoint.version);
    EXPECT_EQ(checkpoint.weights, Halves(-version, -2 * version)) << path;
  }
  EXPECT_EQ(LastCheckpoint().version, 30u);
}

TEST_F(ShardsTest, ARunOfTwoShardsResumesInOneProcess) {
  StartBoth();
  Actor actor = NewOne();
  actor.Push(actor.learner->NextGrant(), 1.0f, 2.0f);
  ASSERT_EQ(actor.learner->NextGrant().version, 1u);
  StopAll();
  Discard();
  Start("updates.start_with=1", /*resume=*/true);
  const auto whole = NewActor();
  whole->Push(whole->NextGrant(), 1.0f);
  EXPECT_EQ(whole->NextGrant().version, 2u);
  Stop();
  EXPECT_EQ(LastCheckpoint().weights, Halves(-2.0f, -3.0f));
}

TEST_F(ShardsTest, MoreShardsThanTheNetAllowsAreRefused) {
  config_ = MakeConfig("learner.shards=8");
  EXPECT_THAT(ErrorOf([&] { Learner(config_, SmallNet(), {.run_dir = dir_.path()}); }),
              testing::HasSubstr("learner.shards = 8"));
}

}  // namespace
}  // namespace starling::learner
