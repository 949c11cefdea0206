#include <array>
#include <cstring>

#include "wire/socket.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

// The one frame: magic u32, term u32, version u64, little-endian.
constexpr std::uint32_t kBeaconMagic = 0x42525453;  // the bytes 'S' 'T' 'R' 'B'
constexpr std::size_t kBeaconBytes = 16;
// XPUB drops what finds a full queue, which may be the newest. So it is long enough for any burst,
// and short enough for the memory of a subscriber that never reads.
constexpr int kBeaconQueue = 1024;
constexpr int kMaxDrained = 1024;  // subscriptions looked at in one call

using BeaconFrame = std::array<std::byte, kBeaconBytes>;

BeaconFrame Pack(const Beacon& beacon) {
  BeaconFrame frame;
  std::memcpy(frame.data(), &kBeaconMagic, 4);
  std::memcpy(frame.data() + 4, &beacon.term, 4);
  std::memcpy(frame.data() + 8, &beacon.version, 8);
  return frame;
}

bool Unpack(const zmq::message_t& frame, Beacon& out) {
  if (frame.size() != kBeaconBytes || std::memcmp(frame.data(), &kBeaconMagic, 4) != 0) {
    return false;
  }
  const auto* bytes = static_cast<const std::byte*>(frame.data());
  std::memcpy(&out.term, bytes + 4, 4);
  std::memcpy(&out.version, bytes + 8, 8);
  return true;
}

}  // namespace

BeaconSender::BeaconSender(Context& context, const std::string& endpoint) {
  impl_->socket = OpenSocket(context, zmq::socket_type::xpub);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.set(zmq::sockopt::sndhwm, kBeaconQueue);
  impl_->socket.set(zmq::sockopt::rcvhwm, kBeaconQueue);
  impl_->socket.set(zmq::sockopt::maxmsgsize, std::int64_t{64});
  impl_->socket.set(zmq::sockopt::xpub_verbose,
                    true);  // tell of every subscriber, not of the first
  endpoint_ = Bind(*impl_, endpoint);
}
BeaconSender::~BeaconSender() = default;

// True if somebody subscribed since the last call. libzmq keeps these notices until they are read.
bool BeaconSender::Drain() {
  bool subscribed = false;
  zmq::message_t notice;
  for (int i = 0; i < kMaxDrained && ReceiveFrame(impl_->socket, notice); ++i) {
    subscribed =
        subscribed || (notice.size() > 0 && *static_cast<const unsigned char*>(notice.data()) == 1);
  }
  return subscribed;
}

void BeaconSender::Send() {
  const BeaconFrame bytes = Pack(last_);
  zmq::message_t frame(bytes.data(), bytes.size());
  SendFrame(impl_->socket, frame, false);  // XPUB drops what a slow subscriber has no room for
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
  impl_->socket.set(zmq::sockopt::conflate, true);
  impl_->socket.set(zmq::sockopt::subscribe, "");
  Connect(impl_->socket, endpoint);
}
BeaconReceiver::~BeaconReceiver() = default;

bool BeaconReceiver::Receive(Beacon& out) {
  zmq::message_t frame;
  while (ReceiveFrame(impl_->socket, frame)) {
    if (Unpack(frame, out)) return true;
  }
  return false;
}

}  // namespace starling::wire
