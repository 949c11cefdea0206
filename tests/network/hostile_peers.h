// Hostile peers: half a ZMTP 3 (https://rfc.zeromq.org/spec/23) by hand, and floods of garbage.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "core/random.h"
#include "tests/network/network_fixture.h"
#include "tests/support/plain_tcp.h"

namespace starling {

// Up to where messages may begin, without a key.
inline std::string ZmtpOpening() {
  const auto property = [](const std::string& name, const std::string& value) {
    return static_cast<char>(name.size()) + name + std::string(3, '\0') +
           static_cast<char>(value.size()) + value;
  };
  std::string greeting = '\xFF' + std::string(8, '\0') + '\x7F' + std::string("\x03\0NULL", 6);
  greeting.resize(64, '\0');
  const std::string ready = std::string("\x05READY") + property("Socket-Type", "DEALER");
  return greeting + '\x04' + static_cast<char>(ready.size()) + ready;
}

// A peer that may send messages now: the other end is ready, too.
inline TcpConnection ZmtpPeer(std::uint16_t port) {
  TcpConnection peer(port);
  peer.Send(ZmtpOpening());
  constexpr std::size_t kGreeting = 64, kHead = 2;  // of a command: its kind and its length
  const std::string head = peer.Receive(kGreeting + kHead);
  if (head.size() == kGreeting + kHead) peer.Receive(static_cast<unsigned char>(head.back()));
  return peer;
}

// The header of a frame with `size` bytes, the last of its message or not.
inline std::string ZmtpFrame(std::uint64_t size, bool more) {
  std::string bytes(1, more ? '\x03' : '\x02');
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  return bytes;
}

// `count` connections, `per_s` a second, that say something else than a learner expects, and go.
inline std::size_t Flood(std::uint16_t port, std::size_t count, std::size_t per_s) {
  RandomStream random({.seed = 9});
  const auto begin = std::chrono::steady_clock::now();
  std::size_t stood = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::microseconds(1'000'000 * i / per_s));
    std::string garbage = i % 4 == 0   ? "GET / HTTP/1.1\r\n\r\n"
                          : i % 4 == 1 ? ZmtpOpening()
                          : i % 4 == 2 ? std::string("\xFF\0\0\0\0\0\0\0\x01\x7F\x03", 11)
                                       : "";
    for (int k = 0; k < 200; ++k) garbage.push_back(static_cast<char>(random.Below(256)));
    // A closed connection keeps its port for a minute: each address has 28,000 of them.
    const auto from = static_cast<std::uint32_t>(0x7F000100 + i % 200);
    TcpConnection connection(port, from);
    stood += connection.closed() ? 0 : 1;
    connection.Send(garbage);
  }
  return stood;
}

class HostilePeersFixture : public NetworkTest {
 protected:
  // The actor is held to be there, whatever else this machine does.
  static inline const Strings kPatient = {"wire.timeout_s=60", "staleness.deadline_s=60"};

  // A learner and an actor at work.
  void StartWithActor(const Strings& settings = {}) {
    ASSERT_TRUE(StartLearner(Plus(Plus(kQuick, {"actors.count=1"}), settings))) << learner_->err();
    StartActor(endpoint());
    ASSERT_TRUE(AwaitJoins(1));
    ASSERT_TRUE(GoesOn());
  }
};

}  // namespace starling
