// Ends the connections of peers that never end a message. libzmq hands over whole messages only and bounds
// how many wait and how long a frame is, not how many frames a message has: what comes after one that does
// not end is kept, for ever.
//
// So the bytes that libzmq has read from a connection are compared with those at the last moment at which a
// whole message came over it. A peer has at most `most` bytes and what it can send in between two looks.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace starling::wire {

class UnfinishedMessages {
 public:
  static constexpr std::int64_t kLookMs = 50;

  // `most`: bytes of an honest peer that libzmq may hold.
  explicit UnfinishedMessages(std::uint64_t most) : most_(most) {}

  // A connection over tcp was accepted as `fd`. It may be closed at any time, and the number used again.
  void Accepted(int fd);
  // A whole message came over it. Of one that is not known: ignored.
  void Heard(int fd);
  // Ends the connections that have brought more than `most` bytes since. A sentence for each.
  // At most once in kLookMs; `now_ms` is any monotonic milliseconds clock.
  std::vector<std::string> Cut(std::int64_t now_ms);

 private:
  struct Connection {
    std::uint64_t cookie = 0;  // the kernel's name for it, which is never used again
    std::uint64_t bytes = 0;   // that had come when it was looked at after a whole message
    bool heard = false, over = false;
  };
  const std::uint64_t most_;
  std::int64_t next_look_ms_ = std::numeric_limits<std::int64_t>::min();
  std::unordered_map<int, Connection> connections_;
};

}  // namespace starling::wire
