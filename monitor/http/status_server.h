// Serves the status pages of a run over HTTP, to this machine only: a thread of the lowest priority
// beside the learner, which shares only the newest status with it.
//
// Limits: a number of connections, of which the oldest makes room for a new one; each carries one
// request of at most kMaxHeader bytes, with a deadline for it and for its answer.
#pragma once

#include <utility>  // Boost 1.74's Asio needs it first

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>

#include "core/clock.h"
#include "core/config/config.h"
#include "core/log.h"
#include "learner/run_status.h"
#include "monitor/http/pages.h"

namespace starling::monitor {

inline constexpr std::size_t kMaxHeader = 8 << 10;  // bytes of a request with its first line

// Throws UserError if status.port = `port` cannot be listened on now.
void CheckStatusPort(std::uint16_t port);

struct StatusServerOptions {
  std::uint16_t port = 0;  // 0: any free one
  // For a learner that was restarted: its run must not end because another program took the port.
  // The port is tried again until it is free.
  bool keep_trying = false;
  std::chrono::milliseconds patience{5000};  // for a request, and again for its answer
  std::size_t max_readers = 32;
};

class StatusServer {
 public:
  // Listens from now on. `clock` is the one that stamps the statuses; it must outlive the server.
  // Throws UserError if the port is taken, unless `keep_trying`.
  StatusServer(const Config& config, const StatusServerOptions& options, const Clock& clock);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // Any thread; never waits.
  void Show(std::shared_ptr<const learner::PublishedStatus> published) {
    pages_.Show(std::move(published));
  }

  // 0 if the port was taken at first.
  std::uint16_t port() const { return port_; }

 private:
  using Reader = std::shared_ptr<boost::beast::tcp_stream>;

  boost::asio::awaitable<void> Listen();
  boost::asio::awaitable<void> Serve(Reader reader);
  void MakeRoom();
  void Run();

  const Config config_;
  const StatusServerOptions options_;
  const Clock& clock_;
  Pages pages_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  std::list<Reader> readers_;  // oldest first
  RateLimitedLog failures_{60'000};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace starling::monitor
