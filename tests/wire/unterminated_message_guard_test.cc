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

TEST_F(Unfinished, TheBytesOfAPeerAreCountedBeforeTheirMessageIsWhole) {
  Connection one(listener_), other(listener_);
  watched_.Accepted(one.own.fd());
  watched_.Accepted(other.own.fd());
  one.Send(100);
  watched_.MessageArrived(one.own.fd(), "one");
  EXPECT_EQ(watched_.BytesFrom("one"), 100u);
  one.Send(7);
  EXPECT_EQ(watched_.BytesFrom("one"), 107u);
  EXPECT_EQ(watched_.BytesFrom("other"), std::nullopt) << "it has sent no message";
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
