#include "monitor/http/status_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/error.h"
#include "core/log.h"
#include "monitor/http/conversation.h"

namespace starling::monitor {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAgain = std::chrono::seconds(1);  // when a port or a descriptor may be free
constexpr int kSendBuffer = 64 << 10;             // bytes that the kernel holds for a slow reader

// Loopback only. Connections that an earlier server left half closed are no obstacle.
void OpenAt(std::uint16_t port, tcp::acceptor& acceptor) try {
  acceptor.open(tcp::v4());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.bind({asio::ip::address_v4::loopback(), port});
  acceptor.listen();
} catch (const boost::system::system_error& error) {
  acceptor = tcp::acceptor(acceptor.get_executor());
  throw UserError(fmt::format("status.port = {}: 127.0.0.1:{} cannot be listened on ({}); end what "
                              "listens there, or set another port, or 0 for no status pages",
                              port, port, error.code().message()),
                  "status.port");
}

}  // namespace

void CheckStatusPort(std::uint16_t port) {
  asio::io_context io;
  tcp::acceptor acceptor(io);
  OpenAt(port, acceptor);
}

StatusServer::StatusServer(const Config& config, const StatusServerOptions& options)
    : config_(config), options_(options), pages_(config_, clock_) {
  try {
    OpenAt(options_.port, acceptor_);
    port_ = acceptor_.local_endpoint().port();
    LogInfo("status pages on http://127.0.0.1:{}/status.json, /metrics and /healthz", port_);
  } catch (const UserError& error) {
    if (!options_.keep_trying) throw;
    LogWarn("{}; the learner goes on without status pages and tries again", error.what());
  }
  thread_ = std::thread([this] { Run(); });
}

StatusServer::~StatusServer() {
  io_.stop();
  thread_.join();
}

void StatusServer::Run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // of this thread alone
  const auto fail = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  try {
    asio::co_spawn(io_, Listen(), fail);
    io_.run();
  } catch (const std::exception& error) {
    LogError("the status pages have ended: {}", error.what());
    error_code ignored;
    acceptor_.close(ignored);
  }
}

asio::awaitable<void> StatusServer::Listen() {
  asio::steady_timer timer(io_);
  while (!acceptor_.is_open()) {
    timer.expires_after(kAgain);
    co_await timer.async_wait(asio::use_awaitable);
    try {
      OpenAt(options_.port, acceptor_);
      LogInfo("status pages on http://127.0.0.1:{}/status.json, after a wait", options_.port);
    } catch (const UserError&) {  // still taken
    }
  }
  for (;;) {
    error_code error;
    tcp::socket socket(io_);
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {  // out of descriptors, say
      timer.expires_after(kAgain);
      co_await timer.async_wait(asio::use_awaitable);
      continue;
    }
    socket.set_option(tcp::socket::send_buffer_size(kSendBuffer), error);
    // The kernel keeps no unread bytes for a reader that is cut off.
    socket.set_option(tcp::socket::linger(true, 0), error);
    MakeRoom();
    readers_.push_back(std::make_shared<boost::beast::tcp_stream>(std::move(socket)));
    asio::co_spawn(io_, Serve(readers_.back()), asio::detached);
  }
}

// The oldest connection goes: it has had the most time for its request.
void StatusServer::MakeRoom() {
  if (readers_.size() < options_.max_readers) return;
  readers_.front()->close();
  readers_.pop_front();
}

asio::awaitable<void> StatusServer::Serve(Reader reader) {
  try {
    co_await Converse(reader, pages_, options_.patience);
  } catch (const std::exception& error) {
    trouble_.Warn(clock_.NowMs(), fmt::format("a status page could not be made: {}", error.what()));
  }
  reader->close();
  readers_.remove(reader);
}

}  // namespace starling::monitor
