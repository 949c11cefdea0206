#include "wire/unterminated_message_guard.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <utility>

namespace starling::wire {
namespace {

std::optional<std::uint64_t> Cookie(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return std::nullopt;
  return cookie;
}

// The bytes of those that libzmq has not read yet.
std::uint64_t BytesUnread(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::string PeerAddress(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  if (::getpeername(fd, plain, &size) != 0 ||
      ::getnameinfo(plain, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "a peer";
  }
  return host.data();
}

}  // namespace

std::optional<std::uint64_t> TcpBytesReceived(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_bytes_received;
}

void UnterminatedMessageGuard::Accepted(int fd) {
  if (const auto cookie = Cookie(fd)) connections_[fd] = {.cookie = *cookie};
}

void UnterminatedMessageGuard::MessageArrived(int fd, const std::string& peer) {
  if (const auto found = connections_.find(fd); found != connections_.end()) {
    found->second.heard = true;
    found->second.peer = peer;
  }
}

std::optional<std::uint64_t> UnterminatedMessageGuard::BytesFrom(const std::string& peer) const {
  for (const auto& [fd, connection] : connections_) {
    if (connection.peer == peer) return TcpBytesReceived(fd);
  }
  return std::nullopt;
}

std::vector<std::string> UnterminatedMessageGuard::Cut(std::int64_t now_ms) {
  std::vector<std::string> cut;
  if (now_ms < next_look_ms_) return cut;
  next_look_ms_ = now_ms + kLookMs;
  for (auto& [fd, connection] : connections_) {
    const auto bytes = TcpBytesReceived(fd);
    if ((connection.over = !bytes)) continue;  // closed
    if (std::exchange(connection.heard, false)) connection.bytes = *bytes;
    if (*bytes < connection.bytes + limit_) continue;
    // The two checks below cost a system call each, so they come last. Bytes that wait in the
    // kernel may be whole messages, and `fd` may be another connection by now.
    if (*bytes < connection.bytes + limit_ + BytesUnread(fd)) continue;
    connection.over = true;
    if (Cookie(fd) != connection.cookie) continue;
    cut.push_back(fmt::format("{} has sent {:.1f} MB of a message that does not end",
                              PeerAddress(fd),
                              static_cast<double>(*bytes - connection.bytes) / 1e6));
    ::shutdown(fd, SHUT_RDWR);
  }
  std::erase_if(connections_, [](const auto& item) { return item.second.over; });
  return cut;
}

}  // namespace starling::wire
