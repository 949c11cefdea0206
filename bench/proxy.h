// A bad network between a client and a server of 127.0.0.1: a TCP proxy that delays, throttles,
// stalls, corrupts and cuts, each direction by itself.
//
// Thread safety: any function from any thread. The proxy runs in a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace starling::bench {

// How a direction behaves. The rates are those of each connection.
struct Way {
  std::chrono::milliseconds delay{0};
  std::size_t bytes_per_s = 0;      // 0: as fast as it goes
  bool stalled = false;             // nothing is read nor written, and the connections stand
  std::uint64_t corrupt_from = 0;   // bytes of a connection that are let through unharmed, …
  std::uint64_t corrupt_every = 0;  // … then one bit of every so many bytes is flipped; 0: of none
};

enum class Direction : std::uint8_t { kToServer, kToClient };

class Proxy {
 public:
  // Listens on a free port. Throws boost::system::system_error.
  explicit Proxy(std::uint16_t server_port);
  ~Proxy();  // closes every connection
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const;
  std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port()); }

  // Changes the standing connections, too; bytes under way already keep their time.
  void Set(Direction direction, Way way);
  void SetBoth(const Way& way);
  // Closes every connection, and each new one at once, until Restore.
  void Cut();
  void Restore();

  std::size_t connections() const;                     // accepted so far and not turned away
  std::uint64_t forwarded(Direction direction) const;  // bytes
  std::uint64_t corrupted() const;                     // bits

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace starling::bench
