#include "monitor/http/status_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "core/error.h"

namespace starling::monitor {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Parser = http::request_parser<http::empty_body>;

constexpr auto kAgain = std::chrono::seconds(1);  // when a port or a descriptor may be free
constexpr int kSendBuffer = 64 << 10;             // bytes that the kernel holds for a slow reader

PageRequest RequestOf(const Parser& parser) {
  const auto& message = parser.get();
  const auto text = [](beast::string_view view) { return std::string(view.data(), view.size()); };
  return {.method = text(message.method_string()),
          .target = text(message.target()),
          .http_1_1 = message.version() >= 11,
          .hosts = message.count(http::field::host),
          .host = text(message[http::field::host]),
          .has_body = parser.chunked() || parser.content_length().value_or(0) > 0,
          .authorization = text(message[http::field::authorization]),
          .cookie = text(message[http::field::cookie]),
          .fetch_site = text(message["Sec-Fetch-Site"]),
          .fetch_dest = text(message["Sec-Fetch-Dest"])};
}

// nullopt: the reader hung up or was cut off.
std::optional<PageAnswer> AnswerTo(const Parser& parser, error_code error, const Answerer& answer) {
  if (!error) return answer(RequestOf(parser));
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Sentence(431, "a request has at most " + std::to_string(kMaxHeader) + " bytes");
  }
  const bool hung_up = error == http::error::end_of_stream || error == http::error::partial_message;
  if (hung_up || error.category() != make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return Sentence(400, "the request cannot be understood: " + error.message());
}

std::string HeadOf(const PageAnswer& answer) {
  http::response<http::empty_body> head(static_cast<http::status>(answer.status), 11);
  head.set(http::field::server, "starling");
  head.set(http::field::content_type, answer.content_type);
  head.set(http::field::content_length, std::to_string(answer.body->size()));
  head.set(http::field::connection, "close");
  head.set(http::field::cache_control, "no-store");
  head.set("X-Content-Type-Options", "nosniff");
  head.set("Cross-Origin-Resource-Policy", "same-origin");
  head.set("Referrer-Policy", "no-referrer");
  for (const auto& [name, value] : answer.headers) head.set(name, value);
  if (answer.status == 405) head.set(http::field::allow, "GET, HEAD");
  std::ostringstream text;
  text << head.base();
  return text.str();
}

// One connection: reads one request within `patience`, answers it within another, and hangs up. A
// slower reader is cut off.
asio::awaitable<void> Converse(std::shared_ptr<beast::tcp_stream> reader, const Answerer& answerer,
                               std::chrono::milliseconds patience) {
  // 1. Read the head of the request.
  error_code error;
  const auto quietly = [&error] { return asio::redirect_error(asio::use_awaitable, error); };
  beast::flat_buffer buffer(2 * kMaxHeader);
  Parser parser;
  parser.header_limit(kMaxHeader);
  reader->expires_after(patience);
  co_await http::async_read_header(*reader, buffer, parser, quietly());
  const std::optional<PageAnswer> answer = AnswerTo(parser, error, answerer);
  if (!answer) co_return;

  // 2. Answer it.
  const std::string head = HeadOf(*answer);
  std::array<asio::const_buffer, 2> bytes;
  bytes[0] = asio::buffer(head);
  if (!answer->head_only) bytes[1] = asio::buffer(*answer->body);
  reader->expires_after(patience);
  co_await asio::async_write(*reader, bytes, quietly());
  if (error) co_return;

  // 3. Discard the rest of the request (a body, say) until the reader hangs up or its time is over:
  // closing a socket that holds unread bytes resets the connection, and the answer may be lost.
  reader->socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::array<char, 4096> rest;
  for (std::size_t discarded = 0; !error && discarded < 16 * kMaxHeader;) {
    const std::size_t size = co_await reader->async_read_some(asio::buffer(rest), quietly());
    discarded += size;
  }
}

// Connections that an earlier server left half closed are no obstacle.
void OpenAt(const std::string& bind, std::uint16_t port, tcp::acceptor& acceptor) try {
  const tcp::endpoint place(asio::ip::make_address(bind), port);
  acceptor.open(place.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.bind(place);
  acceptor.listen();
} catch (const boost::system::system_error& error) {
  acceptor = tcp::acceptor(acceptor.get_executor());
  if (error.code() == boost::system::errc::address_not_available) {
    throw UserError(fmt::format("status.bind = \"{}\" is no address of this machine", bind),
                    "status.bind");
  }
  throw UserError(fmt::format("status.port = {}: {} cannot be listened on ({}); end what listens "
                              "there, or choose another port",
                              port, AddressText(bind, port), error.code().message()),
                  "status.port");
}

}  // namespace

std::string AddressText(const std::string& bind, std::uint16_t port) {
  const bool v6 = bind.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", bind, port) : fmt::format("{}:{}", bind, port);
}

void CheckListen(const StatusConfig& config) {
  asio::io_context io;
  tcp::acceptor acceptor(io);
  OpenAt(config.bind, static_cast<std::uint16_t>(config.port), acceptor);
}

StatusServer::StatusServer(const StatusServerOptions& options, Answerer answer)
    : options_(options), answer_(std::move(answer)) {
  try {
    OpenAt(options_.bind, options_.port, acceptor_);
    port_ = acceptor_.local_endpoint().port();
  } catch (const UserError& error) {
    if (!options_.keep_trying) throw;
    LogWarn("{}; it is tried again", error.what());
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
    ended_ = true;
  }
}

asio::awaitable<void> StatusServer::Listen() {
  asio::steady_timer timer(io_);
  while (!acceptor_.is_open()) {
    timer.expires_after(kAgain);
    co_await timer.async_wait(asio::use_awaitable);
    try {
      OpenAt(options_.bind, options_.port, acceptor_);
      LogInfo("status pages on http://{}/, after a wait",
              AddressText(options_.bind, options_.port));
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
    co_await Converse(reader, answer_, options_.patience);
  } catch (const std::exception& error) {
    failures_.Warn(clock_.NowMs(), std::string("a status page could not be made: ") + error.what());
  }
  reader->close();
  readers_.remove(reader);
}

}  // namespace starling::monitor
