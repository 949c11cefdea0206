#include <gtest/gtest.h>

#include <string>

#include "tests/wire/wire_test_util.h"
#include "wire/socket.h"

namespace starling::wire {
namespace {

class Beacons : public testing::Test {
 protected:
  // Serves the sender until `receiver` has got `wanted`.
  bool Gets(BeaconReceiver& receiver, const Beacon& wanted) {
    return Until([&] {
      PollItem items[] = {{.socket = &sender_}, {.socket = &receiver}};
      Poll(items, 100);
      if (items[0].readable) sender_.Repeat();
      Beacon beacon;
      return receiver.Receive(beacon) && beacon == wanted;
    });
  }

  TempDir directory_;
  Context context_;
  BeaconSender sender_{context_, "ipc://" + (directory_.path() / "b").string()};
};

TEST_F(Beacons, AJoinerHearsTheLastOne) {
  sender_.Publish({.term = 2, .version = 41});
  sender_.Publish({.term = 2, .version = 42});
  BeaconReceiver early(context_, sender_.endpoint());
  EXPECT_TRUE(Gets(early, {.term = 2, .version = 42}));
  BeaconReceiver late(context_, sender_.endpoint());  // the second subscriber is noticed as well
  EXPECT_TRUE(Gets(late, {.term = 2, .version = 42}));
}

TEST_F(Beacons, WithoutAnyThereIsNothingToRepeat) {
  BeaconReceiver receiver(context_, sender_.endpoint());
  ASSERT_TRUE(WaitReadable(sender_));
  sender_.Repeat();
  sender_.Publish({.term = 1, .version = 0xFFFFFFFFFFFFFFFF});
  Beacon beacon;
  ASSERT_TRUE(WaitReadable(receiver));
  ASSERT_TRUE(receiver.Receive(beacon));
  EXPECT_EQ(beacon, (Beacon{.term = 1, .version = 0xFFFFFFFFFFFFFFFF}));
  EXPECT_FALSE(receiver.Receive(beacon));
}

TEST_F(Beacons, OnlyTheNewestIsTold) {
  BeaconReceiver receiver(context_, sender_.endpoint());
  sender_.Publish({.term = 1, .version = 0});
  ASSERT_TRUE(Gets(receiver, {.term = 1, .version = 0}));
  for (std::uint64_t version = 1; version <= 500; ++version) {
    sender_.Publish({.term = 1, .version = version});
  }
  // However many are read in one call, the last one is the last one sent.
  std::uint64_t last = 0;
  ASSERT_TRUE(Until([&] {
    Beacon beacon;
    if (!WaitReadable(receiver, 100) || !receiver.Receive(beacon)) return false;
    EXPECT_GT(beacon.version, last);
    last = beacon.version;
    return last == 500;
  }));
  Beacon beacon;
  EXPECT_FALSE(receiver.Receive(beacon));
}

TEST_F(Beacons, SixteenBytesInTheOrderOfTheReadme) {
  zmq::context_t raw_context;
  zmq::socket_t raw = RawSocket(raw_context, zmq::socket_type::sub);
  raw.set(zmq::sockopt::subscribe, "");
  raw.connect(sender_.endpoint());
  ASSERT_TRUE(WaitReadable(sender_));
  sender_.Publish({.term = 0x01020304, .version = 0x1112131415161718});
  zmq::message_t frame;
  ASSERT_TRUE(raw.recv(frame));
  EXPECT_EQ(frame.to_string(), "STRB\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11");
}

TEST_F(Beacons, OtherFramesAreIgnored) {
  zmq::context_t raw_context;
  zmq::socket_t raw = RawSocket(raw_context, zmq::socket_type::xpub);
  const std::string endpoint = "ipc://" + (directory_.path() / "raw").string();
  raw.bind(endpoint);
  BeaconReceiver receiver(context_, endpoint);
  zmq::message_t subscription;
  ASSERT_TRUE(raw.recv(subscription));
  // 1. Frames of the wrong length or magic are passed over.
  Beacon beacon;
  for (const std::string& frame :
       {std::string(), std::string("STRB"), std::string(16, 'x'), "STRB" + std::string(13, '\0')}) {
    raw.send(zmq::buffer(frame));
    ASSERT_TRUE(WaitReadable(receiver));
    EXPECT_FALSE(receiver.Receive(beacon));
  }
  // 2. A good one behind them is read.
  raw.send(zmq::buffer("STRB" + std::string(1, '\x07') + std::string(11, '\0')));
  ASSERT_TRUE(WaitReadable(receiver));
  ASSERT_TRUE(receiver.Receive(beacon));
  EXPECT_EQ(beacon, (Beacon{.term = 7, .version = 0}));
}

TEST_F(Beacons, AFloodOfSubscriptionsStopsNobody) {
  zmq::context_t raw_context;
  zmq::socket_t raw = RawSocket(raw_context, zmq::socket_type::sub);
  raw.set(zmq::sockopt::sndhwm, 0);
  raw.connect(sender_.endpoint());
  for (int i = 0; i < 5000; ++i) raw.set(zmq::sockopt::subscribe, std::to_string(i));
  sender_.Publish({.term = 1, .version = 1});
  BeaconReceiver receiver(context_, sender_.endpoint());
  EXPECT_TRUE(Gets(receiver, {.term = 1, .version = 1}));
}

}  // namespace
}  // namespace starling::wire
