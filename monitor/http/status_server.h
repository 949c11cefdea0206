// Serves pages over HTTP, in a thread of the lowest priority.
//
// Limits: a number of connections, of which the oldest makes room for a new one; each carries one
// request of at most kMaxHeader bytes, with a deadline for it and for its answer.
#pragma once

#include <utility>  // Boost 1.74's Asio needs it first

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "monitor/http/answer.h"

namespace starling::monitor {

inline constexpr std::size_t kMaxHeader = 8 << 10;  // bytes of a request with its first line

// "127.0.0.1:8080", "[::1]:8080".
std::string AddressText(const std::string& bind, std::uint16_t port);

// Throws UserError if status.bind and status.port cannot be listened on now.
void CheckListen(const StatusConfig& config);

struct StatusServerOptions {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  // For a server that was restarted: another program may have taken the port. It is tried again
  // until it is free.
  bool keep_trying = false;
  std::chrono::milliseconds patience{5000};  // for a request, and again for its answer
  std::size_t max_readers = 32;
};

class StatusServer {
 public:
  // Listens from now on. `answer` is called in the server's thread. Throws UserError if the port is
  // taken, unless `keep_trying`.
  StatusServer(const StatusServerOptions& options, Answerer answer);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // 0 if the port was taken at first.
  std::uint16_t port() const { return port_; }
  // Whether it has failed, and serves no more. Any thread.
  bool ended() const { return ended_; }

 private:
  using Reader = std::shared_ptr<boost::beast::tcp_stream>;

  boost::asio::awaitable<void> Listen();
  boost::asio::awaitable<void> Serve(Reader reader);
  void MakeRoom();
  void Run();

  const StatusServerOptions options_;
  const Answerer answer_;
  const SteadyClock clock_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  std::list<Reader> readers_;  // oldest first
  RateLimitedLog failures_{60'000};
  std::uint16_t port_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace starling::monitor
