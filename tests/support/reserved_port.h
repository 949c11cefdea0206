// A port of 127.0.0.1 that belongs to a test as long as this lives: the kernel gives it to no one
// else, and a server with SO_REUSEADDR can have it.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "tests/support/plain_tcp.h"

namespace starling {

class ReservedPort {
 public:
  // Throws std::runtime_error if `wanted` is somebody else's; 0: any.
  explicit ReservedPort(std::uint16_t wanted = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(wanted);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    const int yes = 1;
    // Afterwards: a socket that shares may be given a port that others share.
    if (::bind(fd_, plain, size) != 0 || ::getsockname(fd_, plain, &size) != 0 ||
        ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
      throw std::runtime_error("no port to be had");
    }
    port_ = ntohs(address.sin_port);
  }
  ~ReservedPort() { ::close(fd_); }
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  std::uint16_t port() const { return port_; }
  // From now on it is taken.
  void Listen() const {
    if (::listen(fd_, 1) != 0) throw std::runtime_error("cannot listen");
  }

 private:
  const int fd_;
  std::uint16_t port_ = 0;
};

}  // namespace starling
