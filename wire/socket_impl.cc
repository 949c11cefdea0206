#include "wire/socket_impl.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "wire/endpoint.h"

namespace starling::wire {
namespace {

[[noreturn]] void Fail(const std::string& what, const std::string& endpoint, const char* why,
                       const std::string& advice) {
  throw UserError(fmt::format("cannot {} {}: {}; {}", what, endpoint, why, advice));
}

constexpr int kFailures =
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;

// Returns whether a process listens on the Unix socket `path`.
bool HasListener(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());  // ParseEndpoint limits the size
  const int status = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool listens = status == 0 || errno == EAGAIN || errno == EINPROGRESS;
  close(fd);
  return listens;
}

// Returns the endpoint for processes of this host if the socket listens on all addresses.
std::string LocalEndpoint(std::string endpoint) {
  const std::pair<std::string, const char*> all[] = {{"tcp://0.0.0.0:", "tcp://127.0.0.1:"},
                                                     {"tcp://[::]:", "tcp://[::1]:"}};
  for (const auto& [any, loopback] : all) {
    if (endpoint.starts_with(any)) return endpoint.replace(0, any.size(), loopback);
  }
  return endpoint;
}

// Checks that no live socket and no other file has this path: libzmq unlinks any file before it
// binds.
void CheckFree(const Endpoint& endpoint, const std::string& text) {
  struct stat status {};
  if (!endpoint.ipc || lstat(endpoint.path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) {
    Fail("listen on", text, "a file of that name is there, and it is no socket",
         "choose another wire.endpoint");
  }
  if (HasListener(endpoint.path)) {
    Fail("listen on", text, "another process listens there",
         "end it or choose another wire.endpoint");
  }
}

}  // namespace

zmq::socket_t OpenSocket(Context& context, zmq::socket_type type) {
  try {
    return {context.impl().context, type};
  } catch (const zmq::error_t& error) {
    throw UserError(fmt::format(
        "cannot open a socket: {}; raise the limit of open files (ulimit -n)", error.what()));
  }
}

std::string Bind(Socket::Impl& impl, const std::string& text, bool keys) {
  zmq::socket_t& socket = impl.socket;
  const Endpoint endpoint = ParseEndpoint(text, keys);
  CheckFree(endpoint, text);
  socket.set(zmq::sockopt::ipv6, endpoint.ipv6);
  socket.set(zmq::sockopt::backlog, 1024);
  try {
    socket.bind(endpoint.zmq);
  } catch (const zmq::error_t& error) {
    Fail("listen on", text, error.what(),
         endpoint.ipc
             ? "choose another wire.endpoint"
             : "choose another wire.endpoint: a free port on an address of this machine, not on "
               "its name, or on * for all addresses");
  }
  if (!endpoint.ipc) return LocalEndpoint(socket.get(zmq::sockopt::last_endpoint));
  impl.bound_path = endpoint.path;
  chmod(endpoint.path.c_str(), 0600);  // to connect, other users would need write permission
  return endpoint.zmq;
}

void Connect(zmq::socket_t& socket, const std::string& text, bool keys) {
  const Endpoint endpoint = ParseEndpoint(text, keys);
  socket.set(zmq::sockopt::ipv6, endpoint.ipv6);
  // A learner restarts within a fraction of a second.
  socket.set(zmq::sockopt::reconnect_ivl, 20);
  socket.set(zmq::sockopt::reconnect_ivl_max, 200);
  try {
    socket.connect(endpoint.zmq);
  } catch (const zmq::error_t& error) {
    Fail("connect to", text, error.what(), "write the endpoint that the learner printed");
  }
}

void Refresh(zmq::socket_t& socket) { (void)socket.get(zmq::sockopt::events); }

SendStatus SendFrame(zmq::socket_t& socket, zmq::message_t& frame, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  if (TEMP_FAILURE_RETRY(zmq_msg_send(frame.handle(), socket.handle(), flags)) >= 0) {
    return SendStatus::kSent;
  }
  const int error = zmq_errno();
  if (error == EHOSTUNREACH) return SendStatus::kGone;
  CHECK(error == EAGAIN, "zmq_msg_send: {}", zmq_strerror(error));
  return SendStatus::kFull;
}

bool ReceiveFrame(zmq::socket_t& socket, zmq::message_t& frame) {
  if (TEMP_FAILURE_RETRY(zmq_msg_recv(frame.handle(), socket.handle(), ZMQ_DONTWAIT)) >= 0) {
    return true;
  }
  const int error = zmq_errno();
  CHECK(error == EAGAIN, "zmq_msg_recv: {}", zmq_strerror(error));
  return false;
}

SocketEvents::SocketEvents(Context& context, zmq::socket_t& watched, bool keys) {
  const std::string name = fmt::format("inproc://events-{}", fmt::ptr(watched.handle()));
  const int events = ZMQ_EVENT_ACCEPTED | (keys ? kFailures : 0);
  CHECK(zmq_socket_monitor(watched.handle(), name.c_str(), events) == 0, "{}",
        zmq_strerror(zmq_errno()));
  reports_ = OpenSocket(context, zmq::socket_type::pair);
  reports_.set(zmq::sockopt::linger, 0);
  reports_.set(zmq::sockopt::rcvhwm, 0);  // no limit: a full queue would stop the I/O thread
  reports_.connect(name);
}

void SocketEvents::Read() {
  // A report has two frames: the event with its value (u16, i32), and the endpoint, which is
  // skipped.
  for (zmq::message_t frame; ReceiveFrame(reports_, frame);) {
    if (!frame.more()) continue;
    std::uint16_t event = 0;
    std::int32_t value = 0;
    CHECK(frame.size() == sizeof event + sizeof value, "an event of {} bytes", frame.size());
    std::memcpy(&event, frame.data(), sizeof event);
    std::memcpy(&value, frame.data<std::byte>() + sizeof event, sizeof value);
    if (event == ZMQ_EVENT_ACCEPTED) {
      accepted_.push_back(value);
    } else {
      ++failed_handshakes_;
    }
  }
}

std::size_t SocketEvents::TakeFailedHandshakes() { return std::exchange(failed_handshakes_, 0); }

std::vector<int> SocketEvents::TakeAccepted() { return std::exchange(accepted_, {}); }

}  // namespace starling::wire
