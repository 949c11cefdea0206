// Connection events of a server socket, as libzmq's I/O thread reports them. Include it in .cc
// files only.
#pragma once

#include <cstddef>
#include <vector>
#include <zmq.hpp>

#include "wire/socket.h"

namespace starling::wire {

class SocketEvents {
 public:
  // With `keys`, counts handshakes that fail. REQUIRES: `watched` is not bound yet.
  SocketEvents(Context& context, zmq::socket_t& watched, bool keys);

  // Reads the waiting reports. Call it often: they take memory until then.
  void Read();
  // Connections since the last call that ended before the peer proved a key.
  std::size_t TakeFailedHandshakes();
  // Descriptors of the connections that were accepted since the last call.
  std::vector<int> TakeAccepted();

 private:
  zmq::socket_t reports_;
  std::size_t failed_handshakes_ = 0;
  std::vector<int> accepted_;
};

}  // namespace starling::wire
