#include "wire/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace starling::wire {
namespace {

[[noreturn]] void Malformed(const std::string& text, const std::string& what) {
  throw UserError(fmt::format(
      "endpoint \"{}\": {}; write ipc://PATH or tcp://127.0.0.1:PORT (port 0 takes any free one)",
      text, what));
}

[[noreturn]] void NotPrivate(const std::string& text, const std::string& what) {
  throw UserError(fmt::format(
      "endpoint \"{}\": {}, and plain sockets carry no encryption and no authentication; reaching "
      "other hosts needs CURVE keys (docs/fleet.md: wire.secret and wire.allowed of a learner, "
      "--secret and --learner-key of an actor), or use ipc://PATH or a loopback address such as "
      "tcp://127.0.0.1:0",
      text, what));
}

bool IsLoopback4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

bool IsLoopback6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
}

bool IsAddress6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Accepts a name, an address, or "*" for all addresses of this host.
bool IsHost(const std::string& host) { return host == "*" || IsPlainWord(host); }

void CheckPort(const std::string& text, std::string_view port) {
  if (port == "*") return;
  const auto number = ParseNumber(port);
  if (!number || *number > 65535) {
    Malformed(text, fmt::format("\"{}\" is not a port", port));
  }
}

Endpoint ParseIpc(const std::string& text, const std::string& path) {
  if (path.empty() || path == "*") Malformed(text, "the path is missing");
  if (path.front() == '@') {
    Malformed(text, "an abstract socket has no permissions, so every user can reach it");
  }
  if (path.size() > kMaxSocketPath) {
    Malformed(text, fmt::format("the path has {} bytes, a socket's may have {}", path.size(),
                                kMaxSocketPath));
  }
  return {.ipc = true, .path = path, .zmq = "ipc://" + path};
}

Endpoint ParseTcp(const std::string& text, const std::string& address, bool keys) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) Malformed(text, "the port is missing");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  CheckPort(text, port);
  if (host.empty()) Malformed(text, "the host is missing");
  if (host.find(';') != std::string::npos) Malformed(text, "a source address is not supported");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string::npos) {
    Malformed(text, "an IPv6 address stands in brackets");
  }
  // As a number: a name service could map localhost to another host.
  if (host == "localhost") host = "127.0.0.1";
  const bool loopback = bracketed ? IsLoopback6(host) : IsLoopback4(host);
  if (!loopback && !keys) {
    NotPrivate(text, fmt::format("{} is not on this host's loopback", host));
  }
  if (bracketed ? !IsAddress6(host) : !IsHost(host)) {
    Malformed(text, fmt::format("\"{}\" is no host", host));
  }
  return {.ipc = false,
          .path = {},
          .ipv6 = bracketed,
          .zmq = bracketed ? fmt::format("tcp://[{}]:{}", host, port)
                           : fmt::format("tcp://{}:{}", host, port)};
}

}  // namespace

Endpoint ParseEndpoint(const std::string& text, bool keys) {
  const auto printable = [](unsigned char c) { return c >= ' ' && c != 0x7F; };
  if (!std::all_of(text.begin(), text.end(), printable)) {
    throw UserError(
        "an endpoint holds control characters; write ipc://PATH or tcp://127.0.0.1:PORT");
  }
  const std::size_t separator = text.find("://");
  if (separator == std::string::npos) Malformed(text, "the transport is missing");
  const std::string transport = text.substr(0, separator);
  const std::string address = text.substr(separator + 3);
  if (transport == "ipc") return ParseIpc(text, address);
  if (transport == "tcp") return ParseTcp(text, address, keys);
  Malformed(text, fmt::format("\"{}\" is not a transport of Starling", transport));
}

bool IsPrivate(const std::string& text) {
  const Endpoint endpoint = ParseEndpoint(text, /*keys=*/true);
  if (!endpoint.ipc) return false;
  const std::filesystem::path folder = std::filesystem::path(endpoint.path).parent_path();
  struct stat status {};
  return ::stat(folder.empty() ? "." : folder.c_str(), &status) == 0 &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string FindNameProblem(const std::string& text, bool keys) {
  const Endpoint endpoint = ParseEndpoint(text, keys);
  if (endpoint.ipc || endpoint.ipv6) return "";
  const std::size_t begin = endpoint.zmq.find("//") + 2;
  const std::string host = endpoint.zmq.substr(begin, endpoint.zmq.rfind(':') - begin);
  addrinfo wanted{};
  wanted.ai_family = AF_INET;  // ZeroMQ resolves IPv4 only
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (found) ::freeaddrinfo(found);
  return error == 0 ? ""
                    : fmt::format("no IPv4 address is known here for \"{}\": {}", host,
                                  ::gai_strerror(error));
}

}  // namespace starling::wire
