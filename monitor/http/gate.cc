#include "monitor/http/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "monitor/svg/html.h"
#include "monitor/svg/style.h"

#include <xxhash.h>

namespace starling::monitor {
namespace {

constexpr std::size_t kLeastToken = 16, kMostToken = 1000;

// Runs with different tokens on one host must not take each other's cookie: ports have none of
// their own.
std::string CookieOf(const std::string& token) {
  return fmt::format("starling-{:016x}=", XXH64(token.data(), token.size(), 0));
}

// A page of another site can make a browser ask us under that site's name (DNS rebinding), and read
// the answer. So only names of this machine are answered, with any port: it may be forwarded.
bool NamesThisMachine(std::string host) {
  const std::size_t bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    const std::string port = host.substr(colon + 1);
    if (!std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) return false;
    host.resize(colon);
  }
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

// Takes the same time wherever they differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

// The value after `key` in "a=1; b=2", with its separator; "" if there is none.
std::string_view Field(std::string_view fields, std::string_view key, char separator) {
  while (!fields.empty()) {
    const std::size_t end = fields.find(separator);
    std::string_view field = fields.substr(0, end);
    field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
    if (field.starts_with(key)) return field.substr(key.size());
    if (end == std::string_view::npos) break;
    fields.remove_prefix(end + 1);
  }
  return {};
}

std::string_view QueryOf(const PageRequest& request) {
  const std::string_view target = request.target;
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

// A page with a field for the token, for people; programs see the status.
PageAnswer AskForToken(bool wrong) {
  const std::string nonce = NewNonce();
  PageAnswer answer = HtmlPage(
      fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>Starling: token</title>\n<style nonce=\"{}\">{}</style>\n</head>\n"
                  "<body>\n<h1>This page needs a token</h1>\n<p>{}It is in the file that "
                  "<code>status.token_file</code> or <code>--token-file</code> names.</p>\n"
                  "<form><label>Token <input type=\"password\" name=\"token\" "
                  "autocomplete=\"off\" required autofocus></label> "
                  "<button>Show the run</button></form>\n</body>\n</html>\n",
                  nonce, kPageStyle, wrong ? "That was another one. " : ""),
      nonce);
  answer.status = 401;
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

// Keeps the token out of the address that a browser shows and remembers: the reader stays on the
// same path. Lax, because the link may stand on a page of another site.
PageAnswer TokenAsCookie(const std::string& token) {
  PageAnswer answer = Sentence(303, "the token is in a cookie now");
  answer.headers = {
      {"Location", "?"},
      {"Set-Cookie", fmt::format("{}{}; Path=/; HttpOnly; SameSite=Lax", CookieOf(token), token)}};
  return answer;
}

}  // namespace

std::string ReadToken(const std::filesystem::path& file) {
  const auto fail = [&](const std::string& what) -> std::string {
    throw UserError(fmt::format("status.token_file = \"{}\": {}", file.string(), what),
                    "status.token_file");
  };
  std::string token;
  try {
    token = ReadRegularFile(file, 4 * kMostToken);
  } catch (const std::system_error& error) {
    return fail("cannot be read: " + error.code().message());
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool plain = std::ranges::all_of(token, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._~").find(c) != std::string_view::npos;
  });
  if (plain && token.size() >= kLeastToken && token.size() <= kMostToken) return token;
  return fail(
      fmt::format("it needs one line of {} to {} letters, digits and -._~, such as "
                  "`openssl rand -hex 16` writes",
                  kLeastToken, kMostToken));
}

std::string NewNonce() {
  std::random_device random;
  std::string nonce;
  for (int i = 0; i < 4; ++i) nonce += fmt::format("{:08x}", random());
  return nonce;
}

std::optional<PageAnswer> Gate::Stop(const PageRequest& request) const {
  // 1. Methods and forms that no page needs.
  if (request.method != "GET" && request.method != "HEAD") {
    return Sentence(405, "only GET and HEAD are allowed");
  }
  if (request.has_body) return Sentence(413, "a request has no body");
  if (request.hosts != 1 && (request.http_1_1 || request.hosts > 1)) {
    return Sentence(400, "a request has exactly one Host");
  }
  // 2. Those that another site has a browser make.
  if (rules_.loopback && request.hosts == 1 && !NamesThisMachine(request.host)) {
    return Sentence(403,
                    "only requests from this machine are answered: ask for localhost or 127.0.0.1");
  }
  const bool elsewhere = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  if (elsewhere && request.fetch_dest != "document") {
    return Sentence(403, "pages of other sites are not answered");
  }
  // 3. Those of strangers.
  const std::string_view path = request.path();
  if (path == "/healthz" || path == "/metrics") return std::nullopt;
  return StopWithoutToken(request);
}

std::optional<PageAnswer> Gate::StopWithoutToken(const PageRequest& request) const {
  if (rules_.token.empty()) {
    if (rules_.loopback) return std::nullopt;
    return Sentence(403,
                    "other machines are told /healthz and /metrics only: all else needs "
                    "status.token_file");
  }
  const std::string_view shown = Field(QueryOf(request), "token=", '&');
  if (SameSecret(shown, rules_.token)) return TokenAsCookie(rules_.token);
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = request.authorization;
  if (given.starts_with(kBearer) && SameSecret(given.substr(kBearer.size()), rules_.token)) {
    return std::nullopt;
  }
  if (SameSecret(Field(request.cookie, CookieOf(rules_.token), ';'), rules_.token))
    return std::nullopt;
  return AskForToken(!shown.empty());
}

}  // namespace starling::monitor
