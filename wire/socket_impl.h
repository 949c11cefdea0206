// The implementation that the socket files share. It includes cppzmq: include it in .cc files only.
#pragma once

#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "wire/socket.h"
#include "wire/unterminated_message_guard.h"

namespace starling::wire {

// Connection events of a server socket, as libzmq's I/O thread reports them.
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

struct Context::Impl {
  explicit Impl(int io_threads) : context(io_threads) {}
  zmq::context_t context;
};

struct Socket::Impl {
  // Both are for servers over tcp only. `events` outlives the socket, whose I/O thread writes to
  // it.
  std::optional<SocketEvents> events;
  std::optional<UnterminatedMessageGuard> unfinished;
  zmq::socket_t socket;
  std::string bound_path;  // of a listening ipc socket

  // Removes the file, which libzmq does not. No other socket can have bound the path meanwhile.
  ~Impl() {
    if (!bound_path.empty()) unlink(bound_path.c_str());
  }
};

struct Envelope::Impl {
  std::string peer, key;
  std::size_t count = 0;
  std::array<zmq::message_t, kMessageFrames> frames;
  std::vector<float> aligned;  // a copy of the tensor, if its frame is not aligned
  FrameView view;
};

// Throws UserError if the process has no descriptors left.
zmq::socket_t OpenSocket(Context& context, zmq::socket_type type);

// Both throw UserError naming the endpoint. `keys`: the socket uses CURVE. Bind returns the
// endpoint for peers. It replaces the file of a dead ipc socket, but no live socket and no other
// file.
std::string Bind(Socket::Impl& impl, const std::string& endpoint, bool keys = false);
void Connect(zmq::socket_t& socket, const std::string& endpoint, bool keys = false);

// Processes the reports of the I/O thread. libzmq does so by itself only now and then; until then a
// queue looks full that the peer has emptied long ago.
void Refresh(zmq::socket_t& socket);
// Sends one frame without waiting. Returns kFull also if there is no connection; kGone only for a
// ROUTER.
SendStatus SendFrame(zmq::socket_t& socket, zmq::message_t& frame, bool more);
// Returns false if there is no frame.
bool ReceiveFrame(zmq::socket_t& socket, zmq::message_t& frame);

}  // namespace starling::wire
