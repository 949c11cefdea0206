#include "wire/socket_events.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

constexpr int kFailures =
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;

}  // namespace

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
