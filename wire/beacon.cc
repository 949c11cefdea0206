#include <bit>
#include <cstring>

#include "wire/socket.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

// The one frame, little-endian.
struct BeaconFrame {
  std::uint32_t magic = 0x42525453;  // the bytes 'S' 'T' 'R' 'B'
  std::uint32_t term = 0;
  std::uint64_t version = 0;
};
static_assert(sizeof(BeaconFrame) == 16 && std::endian::native == std::endian::little);
// XPUB drops a beacon, perhaps the newest, if the queue is full. This length is enough for any
// burst and bounds the memory of a subscriber that never reads.
constexpr int kBeaconQueue = 1024;
constexpr int kMaxDrained = 1024;  // subscriptions, or beacons, read in one call

bool Unpack(const zmq::message_t& frame, Beacon& out) {
  BeaconFrame bytes;
  if (frame.size() != sizeof bytes) return false;
  std::memcpy(&bytes, frame.data(), sizeof bytes);
  if (bytes.magic != BeaconFrame{}.magic) return false;
  out = {.term = bytes.term, .version = bytes.version};
  return true;
}

}  // namespace

BeaconSender::BeaconSender(Context& context, const std::string& endpoint) {
  impl_->socket = OpenSocket(context, zmq::socket_type::xpub);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.set(zmq::sockopt::sndhwm, kBeaconQueue);
  impl_->socket.set(zmq::sockopt::rcvhwm, kBeaconQueue);
  impl_->socket.set(zmq::sockopt::maxmsgsize, std::int64_t{64});
  // Reports every subscriber, not only the first.
  impl_->socket.set(zmq::sockopt::xpub_verbose, true);
  endpoint_ = Bind(*impl_, endpoint);
}
BeaconSender::~BeaconSender() = default;

// Returns whether there is a new subscriber since the last call. libzmq keeps the notices until
// then.
bool BeaconSender::Drain() {
  bool subscribed = false;
  zmq::message_t notice;
  for (int i = 0; i < kMaxDrained && ReceiveFrame(impl_->socket, notice); ++i) {
    subscribed = subscribed || (notice.size() > 0 && *notice.data<unsigned char>() == 1);
  }
  return subscribed;
}

void BeaconSender::Send() {
  const BeaconFrame bytes{.term = last_.term, .version = last_.version};
  zmq::message_t frame(&bytes, sizeof bytes);
  SendFrame(impl_->socket, frame, false);  // XPUB drops it for a subscriber whose queue is full
}

void BeaconSender::Publish(const Beacon& beacon) {
  Drain();
  last_ = beacon;
  any_ = true;
  Send();
}

void BeaconSender::Repeat() {
  if (Drain() && any_) Send();
}

BeaconReceiver::BeaconReceiver(Context& context, const std::string& endpoint) {
  impl_->socket = OpenSocket(context, zmq::socket_type::sub);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.set(zmq::sockopt::maxmsgsize, std::int64_t{64});
  // Not ZMQ_CONFLATE: libzmq 4.3.4 leaks a message that comes while the one before is read.
  impl_->socket.set(zmq::sockopt::rcvhwm, kBeaconQueue);
  impl_->socket.set(zmq::sockopt::subscribe, "");
  Connect(impl_->socket, endpoint);
}
BeaconReceiver::~BeaconReceiver() = default;

bool BeaconReceiver::Receive(Beacon& out) {
  bool any = false;
  zmq::message_t frame;
  for (int i = 0; i < kMaxDrained && ReceiveFrame(impl_->socket, frame); ++i) {
    any |= Unpack(frame, out);
  }
  return any;
}

}  // namespace starling::wire
