#include "wire/unterminated_message_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "tests/support/plain_tcp.h"
#include "tests/wire/wire_test_util.h"

namespace starling::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Only this test reads from the wire, and it decides where whole messages end.
class Unfinished : public testing::Test {
 protected:
  static constexpr std::uint64_t kMaxBytes = 1000;

  struct Connection {
    explicit Connection(const TcpListener& listener)
        : peer(listener.port()), own(listener.Accept()) {}
    // Returns when the bytes have arrived, whether or not they are taken.
    void Send(std::size_t bytes) {
      peer.Send(std::string(bytes, 'x'));
      own.Receive(bytes);
    }
    TcpConnection peer, own;
  };
  std::vector<std::string> Cut() {
    return watched_.Cut(now_ms_ += UnterminatedMessageGuard::kLookMs);
  }

  TcpListener listener_;
  UnterminatedMessageGuard watched_{kMaxBytes};
  std::int64_t now_ms_ = 0;
};

TEST_F(Unfinished, ThatManyBytesWithoutAWholeMessageAreTheEnd) {
  Connection one(listener_), other(listener_);
  watched_.Accepted(one.own.fd());
  watched_.Accepted(other.own.fd());
  one.Send(kMaxBytes - 1);
  EXPECT_THAT(Cut(), IsEmpty());
  EXPECT_FALSE(one.peer.HasClosed());
  one.Send(1);
  EXPECT_THAT(Cut(), ElementsAre(HasSubstr("127.0.0.1 has sent 0.0 MB")));
  EXPECT_TRUE(Until([&] { return one.peer.HasClosed(); }));
  EXPECT_THAT(Cut(), IsEmpty());
  EXPECT_FALSE(other.peer.HasClosed());
}

TEST_F(Unfinished, AWholeMessageBeginsTheCountAnew) {
  Connection one(listener_);
  watched_.Accepted(one.own.fd());
  for (int i = 0; i < 10; ++i) {
    one.Send(kMaxBytes - 1);
    watched_.MessageArrived(one.own.fd());
    EXPECT_THAT(Cut(), IsEmpty());
  }
  one.Send(kMaxBytes);
  EXPECT_EQ(Cut().size(), 1u);
}

// In the kernel they are bounded, and may be whole messages.
TEST_F(Unfinished, WhatNobodyHasReadDoesNotCount) {
  Connection one(listener_);
  watched_.Accepted(one.own.fd());
  one.peer.Send(std::string(kMaxBytes, 'x'));
  ASSERT_EQ(one.own.Peek(kMaxBytes), kMaxBytes);
  EXPECT_THAT(Cut(), IsEmpty());
  one.own.Receive(kMaxBytes);
  EXPECT_EQ(Cut().size(), 1u);
}

// Of large messages over slow links every byte is a sign of life.
TEST_F(Unfinished, ASilentConnectionIsEnded) {
  constexpr std::int64_t kLooks = 20;
  UnterminatedMessageGuard watched(1'000'000, kLooks * UnterminatedMessageGuard::kLookMs);
  Connection slow(listener_), silent(listener_);
  watched.Accepted(slow.own.fd());
  watched.Accepted(silent.own.fd());
  watched.MessageArrived(slow.own.fd(), "slow");
  for (std::int64_t look = 0; look < 3 * kLooks; ++look) {
    if (look % 5 == 0) slow.Send(1);
    EXPECT_THAT(watched.Cut(now_ms_ += UnterminatedMessageGuard::kLookMs), IsEmpty());
    EXPECT_EQ(silent.peer.HasClosed(), look >= kLooks) << look;
  }
  EXPECT_FALSE(slow.peer.HasClosed());
  EXPECT_EQ(watched.BytesFrom("slow"), 3u * kLooks / 5);
  EXPECT_EQ(watched.BytesFrom("silent"), std::nullopt) << "it has sent no message";
}

// The process was stopped, or the machine: silence is counted only while it runs.
TEST_F(Unfinished, AStandstillIsNoSilence) {
  UnterminatedMessageGuard watched(1'000'000, 5'000);
  Connection one(listener_);
  watched.Accepted(one.own.fd());
  EXPECT_THAT(watched.Cut(0), IsEmpty());
  EXPECT_THAT(watched.Cut(3'600'000), IsEmpty());
  EXPECT_FALSE(one.peer.HasClosed());
}

TEST_F(Unfinished, NobodyLooksMoreOftenThanThat) {
  Connection one(listener_);
  watched_.Accepted(one.own.fd());
  EXPECT_THAT(Cut(), IsEmpty());
  one.Send(kMaxBytes);
  EXPECT_THAT(watched_.Cut(now_ms_ + UnterminatedMessageGuard::kLookMs - 1), IsEmpty());
  EXPECT_EQ(Cut().size(), 1u);
}

// The library closes connections by itself, and the next one has the number.
TEST_F(Unfinished, ANumberThatIsSomebodyElsesNowIsLeftAlone) {
  std::optional<Connection> one(std::in_place, listener_);
  const int fd = one->own.fd();
  watched_.Accepted(fd);
  one.reset();
  EXPECT_THAT(Cut(), IsEmpty());
  watched_.MessageArrived(fd);

  one.emplace(listener_);
  watched_.Accepted(one->own.fd());
  one->Send(kMaxBytes / 2);
  EXPECT_THAT(Cut(), IsEmpty());
  Connection next(listener_);
  next.Send(kMaxBytes);
  ASSERT_EQ(::dup2(next.own.fd(), one->own.fd()), one->own.fd());
  EXPECT_THAT(Cut(), IsEmpty());
  EXPECT_FALSE(next.peer.HasClosed());
}

}  // namespace
}  // namespace starling::wire
