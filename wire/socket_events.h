// What libzmq's I/O thread reports of a server's connections. Include it in .cc files only.
#pragma once

#include <cstddef>
#include <vector>
#include <zmq.hpp>

#include "wire/socket.h"

namespace starling::wire {

class SocketEvents {
 public:
  // `keys`: handshakes that fail are counted. `watched` is not bound yet.
  SocketEvents(Context& context, zmq::socket_t& watched, bool keys);

  // Call it often: what was reported is kept until then.
  void Read();
  // Since the last call: connections that ended before their peer had shown a key; descriptors of those that
  // were accepted.
  std::size_t TakeFailedHandshakes();
  std::vector<int> TakeAccepted();

 private:
  zmq::socket_t reports_;
  std::size_t failed_handshakes_ = 0;
  std::vector<int> accepted_;
};

}  // namespace starling::wire
