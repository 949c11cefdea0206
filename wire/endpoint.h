// Parsing of endpoint texts, for the sockets (wire/socket.h).
#pragma once

#include <cstddef>
#include <string>

namespace starling::wire {

// Limit for a Unix socket: sockaddr_un without its terminating zero.
inline constexpr std::size_t kMaxSocketPath = 107;

struct Endpoint {
  bool ipc = false;
  bool on_this_host = false;  // only processes of this host can connect
  std::string path;           // ipc only
  bool ipv6 = false;
  std::string zmq;  // the form for libzmq, with 127.0.0.1 for localhost
};

// Throws UserError under the same conditions as CheckEndpoint (wire/socket.h).
Endpoint ParseEndpoint(const std::string& text, bool keys);

// Returns a sentence if the endpoint's host is a name that cannot be resolved, else "". May take as
// long as name servers do. Throws like ParseEndpoint.
std::string NameTrouble(const std::string& text, bool keys);

}  // namespace starling::wire
