// A scripted reader of status pages, over a plain socket.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/plain_tcp.h"

namespace starling {

struct HttpAnswer {
  int status = 0;                              // 0: none came, or none that is whole
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;
};

class HttpClient {
 public:
  static constexpr int kPatienceMs = 60'000;  // a test has failed if nothing came by then

  // Connects to 127.0.0.1. `receive_buffer` bytes, if not 0, that the kernel takes for us.
  explicit HttpClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const sockaddr_in address = Loopback(port);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~HttpClient() {
    if (fd_ >= 0) ::close(fd_);
  }
  HttpClient(HttpClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

  bool connected() const { return connected_; }
  // False if the other side has hung up.
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Reads until the other side hangs up; `whole` is false if it did not, or by a reset.
  std::string ReadAll(bool* whole = nullptr) const {
    std::string text;
    std::array<char, 1 << 14> buffer{};
    for (;;) {
      pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
      const bool there = ::poll(&readable, 1, kPatienceMs) == 1;
      const ssize_t size = there ? ::recv(fd_, buffer.data(), buffer.size(), 0) : -1;
      if (whole) *whole = size == 0;
      if (size <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }
  // Waits until the other side has hung up, without reading; false if it does not.
  bool AwaitHangUp(int patience_ms = kPatienceMs) const {
    pollfd gone{.fd = fd_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&gone, 1, patience_ms) == 1;
  }

 private:
  int fd_;
  bool connected_ = false;
};

// As it must be: a head that ends, and as many bytes as it announces. A HEAD has a head alone.
inline HttpAnswer ParseHttp(const std::string& text, bool head_only = false) {
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  HttpAnswer answer{.status = std::atoi(text.c_str() + 9), .headers = {}, .body = {}};
  for (std::size_t at = text.find("\r\n"); at < end;) {
    at += 2;
    const std::size_t line = text.find("\r\n", at), colon = text.find(": ", at);
    if (colon == std::string::npos || colon > line) return {};
    std::string name = text.substr(at, colon - at);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!answer.headers.emplace(name, text.substr(colon + 2, line - colon - 2)).second) return {};
    at = line;
  }
  answer.body = text.substr(end + 4);
  const bool fits = std::to_string(answer.body.size()) == answer.headers["content-length"];
  return head_only == answer.body.empty() && (head_only || fits) ? answer : HttpAnswer{};
}

inline HttpAnswer Ask(std::uint16_t port, const std::string& request, bool head_only = false) {
  const HttpClient client(port);
  if (!client.connected() || !client.Send(request)) return {};
  bool whole = false;
  const std::string text = client.ReadAll(&whole);
  return whole ? ParseHttp(text, head_only) : HttpAnswer{};
}

inline HttpAnswer Get(std::uint16_t port, const std::string& path) {
  return Ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost:" + std::to_string(port) +
                       "\r\nAccept: */*\r\n\r\n");
}

}  // namespace starling
