// Ends the connections of peers that never end a message. libzmq delivers whole messages only. It
// limits the number of waiting messages and the size of a frame, but not the number of frames, so
// it keeps a message that never ends without any limit.
//
// This class counts the bytes that libzmq has read from a connection since its last whole message.
// So a peer takes at most `limit` bytes of memory plus those that it sends between two checks.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace starling::wire {

class UnterminatedMessageGuard {
 public:
  static constexpr std::int64_t kLookMs = 50;

  // `limit`: the largest number of bytes that libzmq holds for an honest peer.
  explicit UnterminatedMessageGuard(std::uint64_t limit) : limit_(limit) {}

  // A tcp connection was accepted as `fd`. It may be closed, and the number reused, at any time.
  void Accepted(int fd);
  // A whole message of `peer` arrived over `fd`. Ignores an unknown connection.
  void MessageArrived(int fd, const std::string& peer = "");
  // Returns the bytes that have arrived from `peer` so far, or nullopt if that is unknown.
  std::optional<std::uint64_t> BytesFrom(const std::string& peer) const;
  // Ends the connections with more than `limit` bytes since their last whole message. Returns a
  // sentence for each. Checks at most once per kLookMs; `now_ms` is any monotonic milliseconds
  // clock.
  std::vector<std::string> Cut(std::int64_t now_ms);

 private:
  struct Connection {
    std::uint64_t cookie = 0;  // the kernel's id of the connection, which is never reused
    std::uint64_t bytes = 0;   // received at the first check after the last whole message
    bool heard = false, over = false;
    std::string peer{};
  };
  const std::uint64_t limit_;
  std::int64_t next_look_ms_ = std::numeric_limits<std::int64_t>::min();
  std::unordered_map<int, Connection> connections_;
};

// The bytes that the peer of a tcp connection has sent and the kernel has acknowledged; nullopt if
// `fd` is none.
std::optional<std::uint64_t> TcpBytesReceived(int fd);

}  // namespace starling::wire
