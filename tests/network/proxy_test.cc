// The bad network itself: it has the faults that the other tests here rely on.
#include "bench/proxy.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/plain_tcp.h"
#include "tests/support/process.h"

namespace starling {

using bench::Direction, bench::Proxy, bench::Way;
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class ProxyTest : public testing::Test {
 protected:
  ProxyTest() { server_ = listener_.Accept(); }

  TcpListener listener_;
  Proxy proxy_{listener_.port()};
  TcpConnection client_{proxy_.port()};
  TcpConnection server_;
};

TEST_F(ProxyTest, PassesBothWays) {
  client_.Send("there");
  EXPECT_EQ(server_.Receive(5), "there");
  server_.Send("and back");
  EXPECT_EQ(client_.Receive(8), "and back");
  EXPECT_TRUE(Eventually([&] { return proxy_.forwarded(Direction::kToClient) == 8; }));
  EXPECT_EQ(proxy_.forwarded(Direction::kToServer), 5u);
  EXPECT_EQ(proxy_.connections(), 1u);
}

TEST_F(ProxyTest, DelaysOneDirectionOnly) {
  proxy_.Set(Direction::kToServer, {.delay = milliseconds(100)});
  const auto begin = Clock::now();
  server_.Send("now");
  EXPECT_EQ(client_.Receive(3), "now");
  client_.Send("later");
  EXPECT_EQ(server_.Receive(5), "later");
  EXPECT_GE(Clock::now() - begin, milliseconds(100));
}

TEST_F(ProxyTest, Throttles) {
  proxy_.Set(Direction::kToServer, {.bytes_per_s = 100'000});
  const std::string bytes(30'000, 'x');
  const auto begin = Clock::now();
  client_.Send(bytes);
  EXPECT_EQ(server_.Receive(bytes.size()), bytes);
  EXPECT_GE(Clock::now() - begin, milliseconds(290));
}

TEST_F(ProxyTest, AStalledConnectionStandsAndGoesOn) {
  proxy_.SetBoth({.stalled = true});
  server_.Send("held");
  EXPECT_EQ(client_.Receive(4, milliseconds(100)), "");
  EXPECT_FALSE(client_.closed());
  proxy_.SetBoth({});
  EXPECT_EQ(client_.Receive(4), "held");
}

TEST_F(ProxyTest, FlipsABitOfEverySoManyBytes) {
  proxy_.Set(Direction::kToServer, {.corrupt_from = 3, .corrupt_every = 4});
  client_.Send("aaaaaaaaa");
  EXPECT_EQ(server_.Receive(9), "aaaqaaaqa");
  EXPECT_EQ(proxy_.corrupted(), 2u);
}

TEST_F(ProxyTest, CutsAndRestores) {
  proxy_.Cut();
  EXPECT_EQ(client_.Receive(1), "");
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(server_.Receive(1), "");
  EXPECT_TRUE(server_.closed());
  TcpConnection meanwhile(proxy_.port());
  EXPECT_EQ(meanwhile.Receive(1), "");
  EXPECT_TRUE(meanwhile.closed());
  proxy_.Restore();
  TcpConnection afterwards(proxy_.port());
  TcpConnection accepted = listener_.Accept();
  afterwards.Send("again");
  EXPECT_EQ(accepted.Receive(5), "again");
}

}  // namespace
}  // namespace starling
