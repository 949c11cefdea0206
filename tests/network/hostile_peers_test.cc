// A learner at work, among peers that mean no good.
#include "tests/network/hostile_peers.h"

namespace starling {
namespace {

using HostilePeersTest = HostilePeersFixture;

TEST_F(HostilePeersTest, AFrameLargerThanAnyGradientEndsItsConnection) {
  ASSERT_NO_FATAL_FAILURE(StartWithActor());
  const std::uint64_t before = Resident(learner_->pid());
  TcpConnection peer = ZmtpPeer(port_);
  peer.Send(ZmtpFrame(std::uint64_t{1} << 40, false) + "x");
  EXPECT_TRUE(Until([&] { return peer.HasClosed(); }));
  ExpectGrownAtMost(before, 1'000'000);
  EXPECT_TRUE(GoesOn());
  Finish();
}

// A byte now and then, of frames as long as they may be: they end with their connections.
TEST_F(HostilePeersTest, FramesThatNeverEndAreBoundedAndCutOff) {
  ASSERT_NO_FATAL_FAILURE(StartWithActor());
  const std::uint64_t before = Resident(learner_->pid());
  const std::size_t descriptors = Descriptors(learner_->pid());
  std::vector<TcpConnection> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(ZmtpPeer(port_));
    peers.back().Send(ZmtpFrame(320 * 1024, false));
  }
  ASSERT_TRUE(Until([&] {
    bool all = true;
    for (TcpConnection& peer : peers) {
      peer.Send("x", std::chrono::milliseconds(0));
      all = peer.HasClosed() && all;
    }
    return all;
  }));
  EXPECT_TRUE(Until([&] { return Descriptors(learner_->pid()) <= descriptors; }));
  ExpectGrownAtMost(before, 50 * 320 * 1024);
  EXPECT_TRUE(GoesOn());
  Finish();
}

// As fast as it can, of frames of which none is too long. One without a byte takes 64 of memory.
TEST_F(HostilePeersTest, AMessageThatNeverEndsIsBoundedAndCutOff) {
  struct Case {
    std::string frames;
    std::uint64_t most_sent, memory_per_byte;
  };
  std::string empty;
  for (int i = 0; i < 1000; ++i) empty += std::string("\x01\0", 2);
  const Case cases[] = {{ZmtpFrame(64 << 10, true) + std::string(64 << 10, 'x'), 2'000'000'000, 2},
                        {empty, 100'000'000, 32}};
  ASSERT_NO_FATAL_FAILURE(StartWithActor(kPatient));
  std::uint64_t cut = 0, queued = 0;
  for (const auto& [frames, most_sent, memory_per_byte] : cases) {
    const std::uint64_t before = Resident(learner_->pid());
    TcpConnection peer = ZmtpPeer(port_);
    std::uint64_t sent = 0;
    ASSERT_TRUE(Until([&] {
      sent += peer.Send(frames);
      return peer.HasClosed() || sent > most_sent;
    }));
    EXPECT_LE(sent, most_sent);
    ExpectGrownAtMost(before, sent * memory_per_byte + 2'000'000);
    queued += sent * memory_per_byte;
    ++cut;
    EXPECT_TRUE(Until([&] { return Refused("endless") == cut; }));
  }
  EXPECT_TRUE(AwaitSaid("cut off: 127.0.0.1 has sent "));
  EXPECT_TRUE(GoesOn());
  EXPECT_EQ(Finish(queued).deaths, 0u);
}

TEST_F(HostilePeersTest, AShortFloodOfGarbageLeavesNothingBehind) {
  ASSERT_NO_FATAL_FAILURE(StartWithActor(kPatient));
  Flood(port_, 500, 500);  // the allocator keeps this much from now on
  const std::size_t descriptors = Descriptors(learner_->pid());
  const std::uint64_t before = Resident(learner_->pid());
  EXPECT_EQ(Flood(port_, 1500, 500), 1500u);
  EXPECT_TRUE(GoesOn());
  EXPECT_TRUE(Until([&] { return Descriptors(learner_->pid()) <= descriptors; }));
  ExpectGrownAtMost(before, 1'000'000);
  const RunFacts facts = Finish();
  EXPECT_EQ(facts.joins, 1u);
  EXPECT_EQ(facts.deaths, 0u);
}

}  // namespace
}  // namespace starling
