// A learner's socket among peers that break every rule: it goes on serving the others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/plain_tcp.h"
#include "tests/wire/wire_test_util.h"
#include "wire/socket.h"

namespace starling::wire {
namespace {

constexpr std::size_t kPeerElements = 128 * 1024;  // larger than any fields
const SocketOptions kPeerOptions = {.max_elements = kPeerElements};

Frames Beat() { return Encode({.sequence = 5}, Heartbeat{}); }

class HostilePeer : public testing::Test {
 protected:
  HostilePeer() {
    raw_.set(zmq::sockopt::reconnect_ivl, 10);
    raw_.connect(server_.endpoint());
  }

  void RawSend(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      raw_.send(zmq::buffer(frames[i]),
                i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
  // A well-behaved client is heard and answered, whatever else arrives.
  void ExpectService() {
    ClientSocket client(context_, server_.endpoint(), kPeerOptions);
    ASSERT_TRUE(WaitWritable(client));
    ASSERT_TRUE(client.Send(Beat()));
    Envelope envelope;
    ASSERT_TRUE(Until([&] {
      WaitReadable(server_, 100);
      return server_.Receive(envelope) && Decode(envelope.frames(), kPeerElements);
    }));
    EXPECT_TRUE(server_.Send(envelope.peer(), Beat()));
    EXPECT_TRUE(WaitReadable(client));
  }

  TempDir directory_;
  Context context_;
  ServerSocket server_{context_, "tcp://127.0.0.1:*", kPeerOptions};
  zmq::context_t raw_context_;
  zmq::socket_t raw_ = RawSocket(raw_context_, zmq::socket_type::dealer);
};

TEST_F(HostilePeer, TooManyFramesAreCountedAndThrownAway) {
  for (const std::size_t count : {1, 2, 3, 4, 10, 5000}) {
    RawSend(std::vector<std::string>(count, "x"));
    Envelope envelope;
    ASSERT_TRUE(Next(server_, envelope));
    EXPECT_EQ(envelope.frames().count, count);
    const Refusal expected = count == 3 ? Refusal::kHeaderSize : Refusal::kFrameCount;
    EXPECT_EQ(Decode(envelope.frames(), kPeerElements).refusal, expected);
  }
  ExpectService();
}

TEST_F(HostilePeer, FramesOfTheMessageBeforeAreNotSeenAgain) {
  RawSend({"one", "two", "three"});
  RawSend({"x"});
  Envelope envelope;
  ASSERT_TRUE(Next(server_, envelope));
  EXPECT_EQ(envelope.frames().tensor.size(), 5u);
  ASSERT_TRUE(Next(server_, envelope));
  EXPECT_EQ(envelope.frames().count, 1u);
  EXPECT_EQ(envelope.frames().header.size(), 1u);
  EXPECT_TRUE(envelope.frames().fields.empty());
  EXPECT_TRUE(envelope.frames().tensor.empty());
}

TEST_F(HostilePeer, RandomMessages) {
  RandomStream random({.seed = 6});
  Envelope envelope;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> frames(random.Below(5) + 1);
    for (std::string& frame : frames) {
      frame.resize(random.Below(4) == 0 ? kHeaderBytes : random.Below(200));
      for (char& byte : frame) byte = static_cast<char>(random.Below(256));
    }
    RawSend(frames);
    ASSERT_TRUE(Next(server_, envelope));
    EXPECT_EQ(envelope.frames().count, frames.size());
    EXPECT_FALSE(Decode(envelope.frames(), kPeerElements));
  }
  ExpectService();
}

TEST_F(HostilePeer, ATooLargeFrameDisconnectsItsSenderOnly) {
  ClientSocket good(context_, server_.endpoint(), kPeerOptions);
  ASSERT_TRUE(WaitWritable(good));
  ASSERT_TRUE(good.Send(Beat()));
  Envelope envelope;
  ASSERT_TRUE(Next(server_, envelope));
  const std::string good_name = envelope.peer();

  RawSend({"before"});
  ASSERT_TRUE(Next(server_, envelope));
  const std::string name = envelope.peer();
  RawSend({std::string(kPeerElements * sizeof(float) + 1, 'x')});
  // It may connect again under another name; messages of its old connection are thrown away.
  ASSERT_TRUE(Until([&] {
    RawSend({"after"});
    return WaitReadable(server_, 20) && server_.Receive(envelope) && envelope.peer() != name;
  }));
  EXPECT_EQ(envelope.frames().header.size(), 5u);
  EXPECT_EQ(server_.TrySend(name, Beat()), SendStatus::kGone);

  ASSERT_TRUE(server_.Send(good_name, Beat()));
  EXPECT_TRUE(WaitReadable(good));
}

TEST_F(HostilePeer, SomethingThatDoesNotSpeakZeroMQ) {
  RandomStream random({.seed = 7});
  const std::string endpoint = server_.endpoint();
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  for (int round = 0; round < 50; ++round) {
    std::string garbage = round % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : "";
    // Every other one begins as ZMTP 3 does.
    if (round % 2 == 1) garbage = std::string("\xFF\0\0\0\0\0\0\0\x01\x7F\x03", 11);
    for (int i = 0; i < 200; ++i) garbage.push_back(static_cast<char>(random.Below(256)));
    TcpConnection(port).Send(garbage);
  }
  ExpectService();
}

TEST_F(HostilePeer, APeerCannotTakeTheNameOfAnother) {
  RawSend({"hello"});
  Envelope envelope;
  ASSERT_TRUE(Next(server_, envelope));
  const std::string first = envelope.peer();
  zmq::socket_t named = RawSocket(raw_context_, zmq::socket_type::dealer);
  named.set(zmq::sockopt::routing_id, "name");
  named.connect(server_.endpoint());
  named.send(zmq::str_buffer("mine"), zmq::send_flags::none);
  ASSERT_TRUE(Next(server_, envelope));
  EXPECT_EQ(envelope.peer(), "name");
  zmq::socket_t thief = RawSocket(raw_context_, zmq::socket_type::dealer);
  thief.set(zmq::sockopt::routing_id, "name");
  thief.connect(server_.endpoint());
  thief.send(zmq::str_buffer("stolen"), zmq::send_flags::none);
  // Answers still reach their peers.
  ExpectService();
  ASSERT_TRUE(server_.Send("name", Beat()));
  zmq::pollitem_t item = {named.handle(), 0, ZMQ_POLLIN, 0};
  EXPECT_EQ(zmq::poll(&item, 1, std::chrono::milliseconds(kPatienceMs)), 1);
  EXPECT_TRUE(server_.Send(first, Beat()));
}

}  // namespace
}  // namespace starling::wire
