#include "wire/socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/process.h"
#include "wire/socket_impl.h"

namespace starling::wire {
namespace {

constexpr std::size_t kMaxPollItems = 16;
constexpr int kHandshakeMs = 5000;  // limit for ZeroMQ's greeting and the proof of a key

std::size_t LargestFrame(const SocketOptions& options) {
  return std::max(kMaxFieldsBytes, options.max_elements * sizeof(float));
}

// The largest number of bytes that libzmq holds for an honest peer: a full queue and one message
// that is arriving.
std::uint64_t MaxUnread(const SocketOptions& options) {
  const auto messages = static_cast<std::uint64_t>(options.receive_queue) + 1;
  return messages * (kHeaderBytes + kMaxFieldsBytes + LargestFrame(options));
}

void Configure(zmq::socket_t& socket, const SocketOptions& options) {
  // CURVE adds the command's name, its nonce, a flag and the authentication tag.
  constexpr std::size_t kCurveBytes = 8 + 8 + 1 + 16;
  const std::size_t largest = LargestFrame(options) + (options.keys ? kCurveBytes : 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(largest));
  socket.set(zmq::sockopt::rcvhwm, options.receive_queue);
  socket.set(zmq::sockopt::sndhwm, options.send_queue);
  socket.set(zmq::sockopt::linger, options.linger_ms);
  if (!options.keys) return;
  socket.set(zmq::sockopt::curve_publickey, options.keys->public_key);
  socket.set(zmq::sockopt::curve_secretkey, options.keys->secret_key);
}

// Every connection needs the permission of the context's KeyAuthenticator. Without a
// KeyAuthenticator all are refused.
void RequireGate(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::zap_domain, "starling");
  constexpr int kZapEnforceDomain = 93, kOn = 1;  // zmq.h defines it with its draft options only
  CHECK(zmq_setsockopt(socket.handle(), kZapEnforceDomain, &kOn, sizeof kOn) == 0, "{}",
        zmq_strerror(zmq_errno()));
}

std::span<const std::byte> Bytes(const zmq::message_t& frame) {
  return {frame.data<std::byte>(), frame.size()};
}

// Returns `bytes`, or a copy in `room` if they are not aligned for floats: libzmq stores small
// frames at any address.
std::span<const std::byte> Aligned(std::span<const std::byte> bytes, std::vector<float>& room) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
  if (aligned || bytes.empty()) return bytes;
  room.resize((bytes.size() + sizeof(float) - 1) / sizeof(float));
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return std::as_bytes(std::span<const float>(room)).first(bytes.size());
}

// Receives one whole message and keeps its first three frames. `routed`: the peer's name is an
// extra frame before them. Returns false if there is no message.
bool ReceiveMessage(zmq::socket_t& socket, bool routed, Envelope& out) {
  Envelope::Impl& impl = out.impl();
  zmq::message_t extra;
  if (routed) {
    if (!ReceiveFrame(socket, extra)) return false;
    impl.peer = extra.to_string();
  }
  // libzmq delivers whole messages only, so the other frames of this one are there.
  bool more = !routed || extra.more();
  for (impl.count = 0; more; ++impl.count) {
    zmq::message_t& frame = impl.count < kMessageFrames ? impl.frames[impl.count] : extra;
    if (!ReceiveFrame(socket, frame)) {
      CHECK(!routed && impl.count == 0, "frame {} of a message is missing", impl.count);
      return false;
    }
    more = frame.more();
  }
  for (std::size_t i = impl.count; i < kMessageFrames; ++i) impl.frames[i].rebuild();
  const char* const key = zmq_msg_gets(impl.frames[0].handle(), "User-Id");
  impl.key = key != nullptr ? key : "";
  impl.view = {.count = impl.count,
               .header = Bytes(impl.frames[0]),
               .fields = Bytes(impl.frames[1]),
               .tensor = Aligned(Bytes(impl.frames[2]), impl.aligned)};
  return true;
}

// The descriptor of the connection that brought a message.
int SourceFd(Envelope& message) {
  return zmq_msg_get(message.impl().frames[0].handle(), ZMQ_SRCFD);
}

// Sends the first frame of a message, which decides whether the message can be sent.
SendStatus SendFirst(zmq::socket_t& socket, zmq::message_t& frame) {
  const SendStatus status = SendFrame(socket, frame, true);
  if (status != SendStatus::kFull) return status;
  Refresh(socket);
  return SendFrame(socket, frame, true);
}

using Owner = std::shared_ptr<const void>;

// If the tensor has an owner, the frame shares it and the tensor is not copied.
zmq::message_t TensorFrame(const Frames& frames) {
  const std::span<const std::byte> bytes = frames.tensor;
  if (!frames.owner) return {bytes.data(), bytes.size()};
  const auto release = [](void*, void* owner) { delete static_cast<Owner*>(owner); };
  // The const_cast is safe: libzmq only reads a message that it sends.
  return {const_cast<std::byte*>(bytes.data()), bytes.size(), release, new Owner(frames.owner)};
}

// Sends the other frames of a message; `status` is that of the frame before them. If the connection
// ends between two frames, the others must be sent all the same: libzmq discards them up to the end
// of the message.
SendStatus SendBody(zmq::socket_t& socket, const Frames& frames, SendStatus status) {
  zmq::message_t fields(frames.fields.data(), frames.fields.size());
  if (SendFrame(socket, fields, true) != SendStatus::kSent) status = SendStatus::kGone;
  zmq::message_t tensor = TensorFrame(frames);
  if (SendFrame(socket, tensor, false) != SendStatus::kSent) status = SendStatus::kGone;
  return status;
}

}  // namespace

Context::Context(std::int64_t io_threads) {
  RaiseOpenFiles();
  try {
    impl_ = std::make_unique<Impl>(static_cast<int>(io_threads));
  } catch (const zmq::error_t& error) {
    throw UserError(fmt::format(
        "cannot start ZeroMQ: {}; raise the limit of open files (ulimit -n)", error.what()));
  }
}
Context::~Context() = default;

Envelope::Envelope() = default;
Envelope::~Envelope() = default;
Envelope::Envelope(Envelope&&) noexcept = default;
Envelope& Envelope::operator=(Envelope&&) noexcept = default;

HeldTensor HoldWith(Envelope envelope, HeldTensor tensor) {
  if (!tensor.hold) tensor.hold = std::make_shared<Envelope>(std::move(envelope));
  return tensor;
}

const std::string& Envelope::peer() const {
  static const std::string none;
  return impl_ ? impl_->peer : none;
}

const std::string& Envelope::key() const {
  static const std::string none;
  return impl_ ? impl_->key : none;
}

FrameView Envelope::frames() const { return impl_ ? impl_->view : FrameView{}; }

Envelope::Impl& Envelope::impl() {
  if (!impl_) impl_ = std::make_unique<Impl>();
  return *impl_;
}

Socket::Socket() : impl_(std::make_unique<Impl>()) {}
Socket::~Socket() = default;

ServerSocket::ServerSocket(Context& context, const std::string& endpoint,
                           const SocketOptions& options) {
  impl_->socket = OpenSocket(context, zmq::socket_type::router);
  Configure(impl_->socket, options);
  // Detects hosts that vanished and peers that stop within a frame: libzmq sends pings, and only a
  // whole frame counts as a reply.
  impl_->socket.set(zmq::sockopt::heartbeat_ivl, options.silence_ms);
  impl_->socket.set(zmq::sockopt::heartbeat_timeout, options.silence_ms);
  impl_->socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  // Without it, sends to dead peers succeed silently.
  impl_->socket.set(zmq::sockopt::router_mandatory, true);
  if (options.keys) RequireGate(impl_->socket);
  if (endpoint.starts_with("tcp:")) {
    impl_->events.emplace(context, impl_->socket, options.keys.has_value());
    impl_->unfinished.emplace(MaxUnread(options));
  }
  endpoint_ = Bind(*impl_, endpoint, options.keys.has_value());
}
ServerSocket::~ServerSocket() = default;

std::size_t ServerSocket::FailedHandshakes() {
  if (!impl_->events) return 0;
  impl_->events->Read();
  return impl_->events->TakeFailedHandshakes();
}

std::vector<std::string> ServerSocket::CutUnfinished(std::int64_t now_ms) {
  if (!impl_->events) return {};
  impl_->events->Read();
  for (const int fd : impl_->events->TakeAccepted()) impl_->unfinished->Accepted(fd);
  return impl_->unfinished->Cut(now_ms);
}

bool ServerSocket::Receive(Envelope& out) {
  if (!ReceiveMessage(impl_->socket, true, out)) return false;
  if (impl_->unfinished) {
    impl_->unfinished->MessageArrived(SourceFd(out), out.peer());
  }
  return true;
}

std::optional<std::uint64_t> ServerSocket::BytesFrom(const std::string& peer) const {
  return impl_->unfinished ? impl_->unfinished->BytesFrom(peer) : std::nullopt;
}

SendStatus ServerSocket::TrySend(const std::string& peer, const Frames& frames) {
  zmq::message_t name(peer.data(), peer.size());
  SendStatus status = SendFirst(impl_->socket, name);
  if (status != SendStatus::kSent) return status;
  zmq::message_t header(frames.header.data(), frames.header.size());
  status = SendFrame(impl_->socket, header, true);
  return SendBody(impl_->socket, frames, status);
}

ClientSocket::ClientSocket(Context& context, const std::string& endpoint,
                           const SocketOptions& options) {
  impl_->socket = OpenSocket(context, zmq::socket_type::dealer);
  Configure(impl_->socket, options);
  // Not ZMQ_IMMEDIATE, which would discard a learner's last messages when its connection ends. So
  // messages queued for a dead learner reach its successor, which refuses their term.
  if (options.keys) impl_->socket.set(zmq::sockopt::curve_serverkey, options.server_key);
  Connect(impl_->socket, endpoint, options.keys.has_value());
}
ClientSocket::~ClientSocket() = default;

bool ClientSocket::Send(const Frames& frames) {
  zmq::message_t header(frames.header.data(), frames.header.size());
  if (SendFirst(impl_->socket, header) != SendStatus::kSent) return false;
  return SendBody(impl_->socket, frames, SendStatus::kSent) == SendStatus::kSent;
}

bool ClientSocket::Receive(Envelope& out) {
  if (!ReceiveMessage(impl_->socket, false, out)) return false;
  fd_ = SourceFd(out);
  return true;
}

std::optional<std::uint64_t> ClientSocket::BytesReceived() const { return TcpBytesReceived(fd_); }

bool Poll(std::span<PollItem> items, std::int64_t timeout_ms) {
  // zmq_poll has an array of its own type; a fixed one avoids an allocation in every call.
  CHECK(items.size() <= kMaxPollItems, "{} items", items.size());
  std::array<zmq_pollitem_t, kMaxPollItems> polled{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    PollItem& item = items[i];
    item.readable = item.writable = false;
    polled[i].socket = item.socket != nullptr ? item.socket->impl().socket.handle() : nullptr;
    polled[i].fd = item.fd;
    polled[i].events = static_cast<short>((item.want_readable ? ZMQ_POLLIN : 0) |
                                          (item.want_writable ? ZMQ_POLLOUT : 0));
  }
  const int ready = zmq_poll(polled.data(), static_cast<int>(items.size()), timeout_ms);
  if (ready < 0) {
    CHECK(zmq_errno() == EINTR, "zmq_poll: {}", zmq_strerror(zmq_errno()));
    return false;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].readable = (polled[i].revents & (ZMQ_POLLIN | ZMQ_POLLERR)) != 0;
    items[i].writable = (polled[i].revents & ZMQ_POLLOUT) != 0;
  }
  return ready > 0;
}

}  // namespace starling::wire
