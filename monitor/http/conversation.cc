#include "monitor/http/conversation.h"

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <sstream>
#include <string>

namespace starling::monitor {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Parser = http::request_parser<http::empty_body>;

PageRequest RequestOf(const Parser& parser) {
  const auto& message = parser.get();
  const auto text = [](beast::string_view view) { return std::string(view.data(), view.size()); };
  return {.method = text(message.method_string()),
          .target = text(message.target()),
          .http_1_1 = message.version() >= 11,
          .hosts = message.count(http::field::host),
          .host = text(message[http::field::host]),
          .has_body = parser.chunked() || parser.content_length().value_or(0) > 0};
}

// nullopt: the reader hung up or was cut off.
std::optional<PageAnswer> AnswerTo(const Parser& parser, error_code error, Pages& pages) {
  if (!error) return pages.Answer(RequestOf(parser));
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
  if (answer.status == 405) head.set(http::field::allow, "GET, HEAD");
  std::ostringstream text;
  text << head.base();
  return text.str();
}

}  // namespace

asio::awaitable<void> Converse(std::shared_ptr<beast::tcp_stream> reader, Pages& pages,
                               std::chrono::milliseconds patience) {
  // 1. Read the head of the request.
  error_code error;
  const auto quietly = [&error] { return asio::redirect_error(asio::use_awaitable, error); };
  beast::flat_buffer buffer(2 * kMaxHeader);
  Parser parser;
  parser.header_limit(kMaxHeader);
  reader->expires_after(patience);
  co_await http::async_read_header(*reader, buffer, parser, quietly());
  const std::optional<PageAnswer> answer = AnswerTo(parser, error, pages);
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

}  // namespace starling::monitor
