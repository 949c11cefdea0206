// Plain connections of 127.0.0.1, for bytes that no library would send or receive.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace starling {

inline sockaddr_in Loopback(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return address;
}

class TcpConnection {
 public:
  TcpConnection() = default;
  // `from`: the loopback address (127.x.y.z) of this end; each address has ports of its own.
  explicit TcpConnection(std::uint16_t port, std::uint32_t from = INADDR_LOOPBACK)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in to = Loopback(port), source = Loopback(0, from);
    const int yes = 1;
    ::setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    closed_ = ::bind(fd_, reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0 ||
              ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0;
  }
  static TcpConnection Of(int fd) {
    TcpConnection connection;
    connection.fd_ = fd;
    connection.closed_ = false;
    return connection;
  }
  ~TcpConnection() {
    if (fd_ >= 0) ::close(fd_);
  }
  TcpConnection(TcpConnection&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), closed_(other.closed_) {}
  TcpConnection& operator=(TcpConnection&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(closed_, other.closed_);
    return *this;
  }

  int fd() const { return fd_; }

  // The other end has closed the connection, or it never stood; updated by Send and Receive.
  bool closed() const { return closed_; }

  // Waits while the other end takes nothing, no longer than `patience`. The bytes that were taken.
  std::size_t Send(const std::string& bytes,
                   std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    std::size_t sent = 0;
    while (sent < bytes.size() && !closed_ && Ready(POLLOUT, patience)) {
      const ssize_t size = ::send(fd_, bytes.data() + sent, bytes.size() - sent, kFlags);
      if (size <= 0) closed_ = true;
      if (size > 0) sent += static_cast<std::size_t>(size);
    }
    return sent;
  }

  // `size` bytes, or fewer at the end of the stream or after `patience` without any.
  std::string Receive(std::size_t size,
                      std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    std::string bytes;
    std::array<char, 4096> room{};
    while (bytes.size() < size && !closed_ && Ready(POLLIN, patience)) {
      const std::size_t most = std::min(room.size(), size - bytes.size());
      const ssize_t got = ::recv(fd_, room.data(), most, kFlags);
      if (got <= 0) closed_ = true;
      if (got > 0) bytes.append(room.data(), static_cast<std::size_t>(got));
    }
    return bytes;
  }

  // Waits until so many bytes are there and leaves them. How many are, at most `size`.
  std::size_t Peek(std::size_t size) const {
    std::string room(size, '\0');
    return static_cast<std::size_t>(
        std::max<ssize_t>(0, ::recv(fd_, room.data(), size, MSG_PEEK | MSG_WAITALL)));
  }
  // Whatever is there is thrown away.
  bool HasClosed() {
    Receive(1 << 20, std::chrono::milliseconds(0));
    return closed_;
  }

 private:
  static constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;

  bool Ready(short events, std::chrono::milliseconds patience) const {
    pollfd item{.fd = fd_, .events = events, .revents = 0};
    return ::poll(&item, 1, static_cast<int>(patience.count())) == 1;
  }

  int fd_ = -1;
  bool closed_ = true;
};

// A port of 127.0.0.1 that belongs to a test as long as this lives: the kernel gives it to no other
// socket, and a server with SO_REUSEADDR can have it.
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
  int fd() const { return fd_; }
  // From now on it is taken.
  void Listen(int backlog = 1) const {
    if (::listen(fd_, backlog) != 0) throw std::runtime_error("cannot listen");
  }

 private:
  const int fd_;
  std::uint16_t port_ = 0;
};

class TcpListener {
 public:
  TcpListener() { port_.Listen(16); }

  std::uint16_t port() const { return port_.port(); }
  TcpConnection Accept() const { return TcpConnection::Of(::accept(port_.fd(), nullptr, nullptr)); }

 private:
  const ReservedPort port_;
};

}  // namespace starling
