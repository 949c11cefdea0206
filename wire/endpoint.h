// Endpoint texts taken apart, for the sockets (wire/socket.h).
#pragma once

#include <cstddef>
#include <string>

namespace starling::wire {

// Of a Unix socket: sockaddr_un without its terminating zero.
inline constexpr std::size_t kMaxSocketPath = 107;

struct Endpoint {
  bool ipc = false;
  bool on_this_host = false;  // only its own processes reach it
  std::string path;           // ipc
  bool ipv6 = false;
  std::string zmq;  // as libzmq wants it: with a numeric host
};

// Throws UserError as CheckEndpoint (wire/socket.h).
Endpoint ParseEndpoint(const std::string& text, bool keys);

// Why no connection to this endpoint can begin: its host is a name that cannot be looked up. "" if there
// is no such reason. May take as long as name servers do. Throws as ParseEndpoint.
std::string NameTrouble(const std::string& text, bool keys);

}  // namespace starling::wire
