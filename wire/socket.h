// The sockets between learner and actors: ROUTER and DEALER for messages, XPUB and SUB for the
// version beacon. Thin: nothing here knows what a message means.
//
// Every call but Poll returns at once. Plain sockets exist only on ipc and loopback, all others speak
// CURVE (CheckEndpoint); queues are a few messages long and a full one is a returned `false`.
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

// Throws UserError unless `endpoint` is "ipc://PATH" (PATH of 1 to 107 bytes, not abstract) or
// "tcp://HOST:PORT" with PORT a number up to 65535 or "*" (any free one, as 0) and a loopback HOST
// (127.0.0.0/8, [::1], localhost) or, with `keys`, any: a name, an address, "*" for all of a host's.
void CheckEndpoint(const std::string& endpoint, bool keys = false);

// One I/O thread. Must outlive its sockets. Raises the soft limit of open files to the hard one,
// since a listener without descriptors spins. Throws UserError if there are none left.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct SocketOptions {
  std::size_t max_elements = 0;  // of a tensor; a longer frame disconnects the peer that sent it
  int receive_queue = 8;         // messages per peer
  int send_queue = 8;
  int linger_ms = 500;  // how long a closing socket still tries to deliver
  // A server: of a peer of whom no whole frame has come for so long the connection is closed, at the latest
  // after twice as long. 0: never; who has shown its key may then go on with a frame for ever.
  int silence_ms = 0;
  // CURVE: a server's own keys, for a Gate (wire/gate.h) decides who may come in; a client's own and its
  // server's public key. Without, the socket is plain.
  std::optional<KeyPair> keys{};
  std::string server_key{};
};

// A received message; owns its frames.
class Envelope {
 public:
  Envelope();
  ~Envelope();
  Envelope(Envelope&&) noexcept;
  Envelope& operator=(Envelope&&) noexcept;

  // Who sent it: an opaque name that the server's socket gave to the connection; empty at a client.
  const std::string& peer() const;
  // Its sender's public key, which was proved; empty at a client and on a plain socket.
  const std::string& key() const;
  // Valid while this envelope lives (moving it does not move the bytes). The tensor is aligned for
  // floats. Of a message with more than three frames the rest was thrown away and only counted.
  FrameView frames() const;

  struct Impl;
  Impl& impl();

 private:
  std::unique_ptr<Impl> impl_;
};

// What Poll can wait for.
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

  // The endpoint that peers of this host connect to, with the port that was chosen.
  const std::string& endpoint() const { return endpoint_; }

  // Since the last call: connections that ended before their peer had shown a key (none, a wrong key of
  // ours, something else than ZeroMQ). Call it often: the news are kept until then.
  std::size_t FailedHandshakes();
  // Over tcp: ends the connections over which more bytes have come since the last whole message than a full
  // queue of the largest has (wire/unfinished.h). A sentence for each. Call it often, after Receive; `now_ms`
  // is any monotonic milliseconds clock.
  std::vector<std::string> CutUnfinished(std::int64_t now_ms);

  // False if nothing is there. `out` is overwritten.
  bool Receive(Envelope& out);
  // kFull and kGone: the message is not sent, other peers are not affected. That a connection ended
  // is told by the first send after it, so a heartbeat to every peer finds the dead ones.
  SendStatus TrySend(const std::string& peer, const Frames& frames);
  bool Send(const std::string& peer, const Frames& frames) {
    return TrySend(peer, frames) == SendStatus::kSent;
  }

 private:
  std::string endpoint_;
};

// The actor's end. Connects and reconnects by itself. What it queued for a learner that has gone reaches
// the next one on the endpoint; what a learner said before it went can still be received.
class ClientSocket : public Socket {
 public:
  // Throws UserError if the endpoint is not allowed. That nobody listens yet is no error.
  ClientSocket(Context& context, const std::string& endpoint, const SocketOptions& options);
  ~ClientSocket();

  // False if the queue is full; Poll for `writable` and try again.
  bool Send(const Frames& frames);
  bool Receive(Envelope& out);
};

struct Beacon {
  std::uint32_t term = 0;
  std::uint64_t version = 0;

  friend bool operator==(const Beacon&, const Beacon&) = default;
};

// Tells every subscriber the newest version, 16 bytes each time. A subscriber that is slow misses
// some; the next one says it all.
class BeaconSender : public Socket {
 public:
  BeaconSender(Context& context, const std::string& endpoint);  // throws as ServerSocket
  ~BeaconSender();
  const std::string& endpoint() const { return endpoint_; }
  void Publish(const Beacon& beacon);
  // Call when Poll says readable, that is when someone has subscribed: repeats the last beacon, so
  // that a late joiner need not wait for the next version.
  void Repeat();

 private:
  bool Drain();
  void Send();

  std::string endpoint_;
  Beacon last_;
  bool any_ = false;
};

// Keeps only the newest beacon.
class BeaconReceiver : public Socket {
 public:
  BeaconReceiver(Context& context, const std::string& endpoint);  // throws as ClientSocket
  ~BeaconReceiver();
  // False if none came since the last call.
  bool Receive(Beacon& out);
};

// Something to wait for: a socket of this file or a file descriptor (an eventfd). One that is
// neither is never ready.
struct PollItem {
  const Socket* socket = nullptr;
  int fd = -1;  // used if socket is null
  bool want_readable = true;
  bool want_writable = false;
  bool readable = false;  // set by Poll (an fd in error or hung up counts as readable)
  bool writable = false;
};

// Waits until an item is ready or `timeout_ms` have passed (negative: for ever, 0: not at all).
// True if any is ready. A signal ends the wait early, with false: the caller looks at its flags.
bool Poll(std::span<PollItem> items, std::int64_t timeout_ms);

}  // namespace starling::wire
