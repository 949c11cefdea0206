#include <array>
#include <cstring>

#include "wire/socket.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

// The one frame: magic u32, term u32, version u64, little-endian.
constexpr std::uint32_t kBeaconMagic = 0x42525453;  // the bytes 'S' 'T' 'R' 'B'
constexpr std::size_t kBeaconBytes = 16;
// XPUB drops a beacon, perhaps the newest, if the queue is full. This length is enough for any
// burst and bounds the memory of a subscriber that never reads.
constexpr int kBeaconQueue = 1024;
constexpr int kMaxDrained = 1024;  // subscriptions read in one call

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
  const auto* bytes = frame.data<std::byte>();
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
                    true);  // report every subscriber, not the first only
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
  const BeaconFrame bytes = Pack(last_);
  zmq::message_t frame(bytes.data(), bytes.size());
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
