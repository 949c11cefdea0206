// What the socket files share behind wire/socket.h: cppzmq stays in here. Include it in .cc files
// only.
#pragma once

#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "wire/socket.h"
#include "wire/socket_events.h"
#include "wire/unfinished.h"

namespace starling::wire {

struct Context::Impl {
  zmq::context_t context{1};
};

struct Socket::Impl {
  // Of a server over tcp. It outlives the socket, whose I/O thread writes to it.
  std::optional<SocketEvents> events;
  std::optional<UnfinishedMessages> unfinished;  // where there are events
  zmq::socket_t socket;
  std::string bound_path;  // of an ipc socket that listens

  // libzmq leaves the file behind. While this socket listens nobody else can have bound the path.
  ~Impl() {
    if (!bound_path.empty()) unlink(bound_path.c_str());
  }
};

struct Envelope::Impl {
  std::string peer, key;
  std::size_t count = 0;
  std::array<zmq::message_t, kMessageFrames> frames;
  std::vector<float> aligned;  // the tensor, if it did not arrive aligned
  FrameView view;
};

// A socket of this type. Throws UserError if the process has no descriptors left.
zmq::socket_t OpenSocket(Context& context, zmq::socket_type type);

// Both throw UserError naming the endpoint. Bind returns the endpoint as peers must write it; it
// takes over the file of a dead ipc socket, never that of a live one or of something else.
// `keys`: it speaks CURVE.
std::string Bind(Socket::Impl& impl, const std::string& endpoint, bool keys = false);
void Connect(zmq::socket_t& socket, const std::string& endpoint, bool keys = false);

// Takes in what the I/O thread has reported. libzmq does so by itself only now and then, and until
// it has, a queue that the peer has long emptied looks full.
void Refresh(zmq::socket_t& socket);
// One frame, not waiting. kFull also where no connection stands; kGone only on a ROUTER.
SendStatus SendFrame(zmq::socket_t& socket, zmq::message_t& frame, bool more);
// False if there is nothing.
bool ReceiveFrame(zmq::socket_t& socket, zmq::message_t& frame);

}  // namespace starling::wire
