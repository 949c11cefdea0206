// A connection to 127.0.0.1 for bytes that break the protocol.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace starling::wire {

class RawTcp {
 public:
  // `endpoint` ends in ":PORT".
  explicit RawTcp(const std::string& endpoint)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawTcp() { ::close(fd_); }
  RawTcp(const RawTcp&) = delete;
  RawTcp& operator=(const RawTcp&) = delete;

  // As much of it as the other end takes.
  void Send(const std::string& bytes) const {
    (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  const int fd_;
};

}  // namespace starling::wire
