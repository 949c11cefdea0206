// The sockets between learner and actors: ROUTER and DEALER for messages, XPUB and SUB for the
// version beacon. They do not depend on the content of messages.
//
// Only Poll waits. Plain sockets exist only on ipc and loopback, all others use CURVE
// (wire/endpoint.h). Queues are a few messages long; sending to a full one returns false.
//
// Thread safety: a Context may be shared; each socket belongs to one thread. An Envelope may be
// moved to another thread and destroyed there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/codec.h"
#include "wire/keys.h"

namespace starling::wire {

// The I/O threads of ZeroMQ. A new connection gets the thread that has the fewest; with keys, that
// thread encrypts and decrypts for it. Must outlive its sockets. Raises the soft limit of open
// files to the hard limit, because a listener without descriptors spins. Throws UserError if there
// are none left.
class Context {
 public:
  explicit Context(std::int64_t io_threads = 1);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct SocketOptions {
  std::size_t max_elements = 0;  // of a tensor; a longer frame disconnects its sender
  int receive_queue = 8;         // messages per peer
  int send_queue = 8;
  int linger_ms = 500;  // how long a closing socket tries to deliver
  // Servers only: a connection without a whole frame for silence_ms is closed, at the latest after
  // twice that time. 0: never; a peer with a key may then extend a frame without limit.
  int silence_ms = 0;
  // CURVE keys of this socket; without them it is plain. A KeyAuthenticator
  // (wire/key_authenticator.h) admits the clients of a server with keys.
  std::optional<KeyPair> keys{};
  std::string server_key{};  // clients only: the server's public key
};

// A received message. It owns its frames.
class Envelope {
 public:
  Envelope();
  ~Envelope();
  Envelope(Envelope&&) noexcept;
  Envelope& operator=(Envelope&&) noexcept;

  // The sender: an opaque name that the server's socket gave to the connection; empty at a client.
  const std::string& peer() const;
  // The sender's verified public key; empty at a client and on a plain socket.
  const std::string& key() const;
  // Valid while this envelope lives (moving it does not move the bytes). The tensor is aligned for
  // floats. Frames after the third are counted and discarded.
  FrameView frames() const;

  struct Impl;
  Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

// Lets a tensor that lies in the frames of `envelope` hold it; of any other it stays as it is.
HeldTensor HoldWith(Envelope envelope, HeldTensor tensor);

// The base of all sockets: Poll can wait for one.
class Socket {
 public:
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  struct Impl;
  Impl& impl() const { return *impl_; }

 protected:
  Socket();
  ~Socket();
  std::unique_ptr<Impl> impl_;
};

enum class SendStatus : std::uint8_t { kSent, kFull, kGone };

// The learner's end: one socket, many peers.
class ServerSocket : public Socket {
 public:
  // Binds. Throws UserError naming the endpoint: not allowed, in use, no permission.
  ServerSocket(Context& context, const std::string& endpoint, const SocketOptions& options);
  ~ServerSocket();

  // The endpoint for peers on this host, with the actual port.
  const std::string& endpoint() const { return endpoint_; }

  // Returns the number of connections since the last call that ended before the peer proved a key
  // (it has none, expects another server's key, or does not speak ZeroMQ). Call it often: the
  // reports take memory until then.
  std::size_t FailedHandshakes();
  // Over tcp: the bytes received over the connection of `peer` so far, those of a message that is
  // still arriving too; nullopt: unknown. Costs a look at every connection.
  std::optional<std::uint64_t> BytesFrom(const std::string& peer) const;
  // Over tcp: ends the connections that have received more bytes since their last whole message
  // than a full queue of the largest messages has (wire/unterminated_message_guard.h), and returns
  // a sentence for each. Call it often, after Receive. `now_ms` is any monotonic milliseconds
  // clock.
  std::vector<std::string> CutUnfinished(std::int64_t now_ms);

  // Overwrites `out`. Returns false if there is no message.
  bool Receive(Envelope& out);
  // kFull and kGone: the message is not sent, other peers are not affected. The first send after
  // the end of a connection returns kGone, so heartbeats to all peers find the dead ones.
  SendStatus TrySend(const std::string& peer, const Frames& frames);
  bool Send(const std::string& peer, const Frames& frames) {
    return TrySend(peer, frames) == SendStatus::kSent;
  }

 private:
  std::string endpoint_;
};

// The actor's end. Connects and reconnects by itself. Messages queued for a learner that has ended
// reach the next one on the endpoint; messages that a learner sent before it ended are delivered.
class ClientSocket : public Socket {
 public:
  // Throws UserError if the endpoint is not allowed. The learner may start later.
  ClientSocket(Context& context, const std::string& endpoint, const SocketOptions& options);
  ~ClientSocket();

  // Returns false if the queue is full; Poll for `writable` and try again.
  bool Send(const Frames& frames);
  bool Receive(Envelope& out);
  // As ServerSocket::BytesFrom, over the connection of the last message.
  std::optional<std::uint64_t> BytesReceived() const;

 private:
  int fd_ = -1;  // of the last message
};

struct Beacon {
  std::uint32_t term = 0;
  std::uint64_t version = 0;

  friend bool operator==(const Beacon&, const Beacon&) = default;
};

// Sends the newest version to every subscriber, 16 bytes each time. A slow subscriber misses some
// and needs only the last.
class BeaconSender : public Socket {
 public:
  BeaconSender(Context& context, const std::string& endpoint);  // throws like ServerSocket
  ~BeaconSender();
  const std::string& endpoint() const { return endpoint_; }
  void Publish(const Beacon& beacon);
  // Repeats the last beacon for new subscribers, so that they need not wait for the next version.
  // Call it when Poll reports the sender readable, which means that there is one.
  void Repeat();

 private:
  bool Drain();
  void Send();

  std::string endpoint_;
  Beacon last_;
  bool any_ = false;
};

// Keeps up to 1,024 beacons. Call Receive often: behind a full queue the newest is dropped.
class BeaconReceiver : public Socket {
 public:
  BeaconReceiver(Context& context, const std::string& endpoint);  // throws like ClientSocket
  ~BeaconReceiver();
  // Reads the newest beacon. Returns false if there is none since the last call.
  bool Receive(Beacon& out);
};

// A socket of this file or a file descriptor (an eventfd). An item with neither is never ready.
struct PollItem {
  const Socket* socket = nullptr;
  int fd = -1;  // used if socket is null
  bool want_readable = true;
  bool want_writable = false;
  bool readable = false;  // set by Poll (an fd in error or hung up counts as readable)
  bool writable = false;
};

// Waits until an item is ready or `timeout_ms` have passed (negative: without limit, 0: not at
// all). Returns whether any is ready. A signal ends the wait early, with false; the caller checks
// its flags.
bool Poll(std::span<PollItem> items, std::int64_t timeout_ms);

}  // namespace starling::wire
