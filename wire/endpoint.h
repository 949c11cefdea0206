// Endpoint texts, for the sockets (wire/socket.h).
#pragma once

#include <cstddef>
#include <string>

namespace starling::wire {

// Limit for a Unix socket: sockaddr_un without its terminating zero.
inline constexpr std::size_t kMaxSocketPath = 107;

struct Endpoint {
  bool ipc = false;
  std::string path;  // ipc only
  bool ipv6 = false;
  std::string zmq;  // the form for libzmq, with 127.0.0.1 for localhost
};

// Throws UserError unless `text` is "ipc://PATH" (PATH of 1 to 107 bytes, not abstract) or
// "tcp://HOST:PORT". PORT is a number up to 65535, or "*" or 0 for any free one. HOST is on
// loopback (127.0.0.0/8, [::1], localhost); with `keys` it may be any name or address, or "*" for
// all addresses of the host.
Endpoint ParseEndpoint(const std::string& text, bool keys = false);

// Returns whether only this user and root can listen there: an ipc socket in a directory that
// belongs to this user and that no other may write to, as the private directory of a run. Throws
// like ParseEndpoint.
bool IsPrivate(const std::string& text);

// Returns a sentence if the endpoint's host is a name that cannot be resolved, else "". May take as
// long as name servers do. Throws like ParseEndpoint.
std::string FindNameProblem(const std::string& text, bool keys);

}  // namespace starling::wire
