#include "monitor/http/gate.h"

#include <gmock/gmock.h>

#include <map>

#include "core/error.h"
#include "core/file.h"
#include "tests/support/html.h"
#include "tests/support/temp_dir.h"

namespace starling::monitor {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kToken[] = "0123456789abcdef";

PageRequest Request(std::string target, std::string host = "localhost:8080") {
  return {.method = "GET", .target = std::move(target), .host = std::move(host)};
}

// 200: it may pass.
unsigned StatusOf(const GateRules& rules, const PageRequest& request) {
  const auto stopped = Gate(rules).Stop(request);
  return stopped ? stopped->status : 200;
}

std::string Header(const PageAnswer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

// "NAME=TOKEN", as a browser sends it after the right token.
std::string CookieFor(const std::string& token) {
  const auto answer = Gate({.token = token}).Stop(Request("/?token=" + token));
  const std::string set = answer ? Header(*answer, "Set-Cookie") : "";
  return set.substr(0, set.find(';'));
}

TEST(GateTest, OnTheLoopbackOnlyNamesOfThisMachineAreAnswered) {
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:65535", "[::1]",
                           "[::1]:8080", "localhost:", "127.0.0.2", "127.8.9.10:80"}) {
    EXPECT_EQ(StatusOf({}, Request("/", host)), 200u) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "0.0.0.0", "", ":8080", "localhost:80:80",
                           "localhost:x", "[::1", "::1", "[::1]x", "user@localhost", "10.0.0.5"}) {
    EXPECT_EQ(StatusOf({}, Request("/", host)), 403u) << host;
    EXPECT_EQ(StatusOf({}, Request("/healthz", host)), 403u) << host;
  }
}

TEST(GateTest, RequestsThatNobodyHasToMake) {
  PageRequest post = Request("/");
  post.method = "POST";
  EXPECT_EQ(StatusOf({}, post), 405u);
  PageRequest body = Request("/");
  body.has_body = true;
  EXPECT_EQ(StatusOf({}, body), 413u);
  PageRequest two = Request("/");
  two.hosts = 2;
  EXPECT_EQ(StatusOf({}, two), 400u);
  PageRequest none = Request("/", "");
  none.hosts = 0;
  EXPECT_EQ(StatusOf({}, none), 400u);
  none.http_1_1 = false;
  EXPECT_EQ(StatusOf({}, none), 200u);
}

// Their pages can make a browser ask, but only a reader follows a link.
TEST(GateTest, OtherSitesAreRefusedAndLinksAreFollowed) {
  for (const char* path : {"/", "/metrics", "/parts"}) {
    PageRequest request = Request(path);
    for (const char* site : {"", "none", "same-origin"}) {
      request.fetch_site = site;
      EXPECT_EQ(StatusOf({}, request), 200u) << site;
    }
    for (const char* site : {"cross-site", "same-site"}) {
      request.fetch_site = site;
      for (const char* dest : {"empty", "image", "script", "iframe"}) {
        request.fetch_dest = dest;
        EXPECT_EQ(StatusOf({}, request), 403u) << site << ", " << dest;
      }
      request.fetch_dest = "document";
      EXPECT_EQ(StatusOf({}, request), 200u);
    }
  }
}

TEST(GateTest, OtherMachinesAreToldOfHealthAndMetrics) {
  const GateRules rules{.loopback = false};
  const std::string host = "pod.example:8080";
  EXPECT_EQ(StatusOf(rules, Request("/healthz", host)), 200u);
  EXPECT_EQ(StatusOf(rules, Request("/metrics?x=1", host)), 200u);
  for (const char* path : {"/", "/parts", "/status.json", "/healthz/", "/nothing"}) {
    EXPECT_EQ(StatusOf(rules, Request(path, host)), 403u) << path;
  }
  EXPECT_THAT(*Gate(rules).Stop(Request("/", host))->body, HasSubstr("status.token_file"));
}

TEST(GateTest, ATokenOpensTheRest) {
  for (const bool loopback : {true, false}) {
    const GateRules rules{.loopback = loopback, .token = kToken};
    PageRequest request = Request("/status.json");
    EXPECT_EQ(StatusOf(rules, Request("/healthz")), 200u);
    EXPECT_EQ(StatusOf(rules, request), 401u);
    request.authorization = std::string("Bearer ") + kToken;
    EXPECT_EQ(StatusOf(rules, request), 200u);
    for (const char* wrong :
         {"Bearer 0123456789abcdeg", "Bearer 0123456789abcde", "Bearer ", "Basic 0123456789abcdef",
          "0123456789abcdef", "Bearer", "Bearer 0123456789abcdef0"}) {
      request.authorization = wrong;
      EXPECT_EQ(StatusOf(rules, request), 401u) << wrong;
    }
    request.authorization.clear();
    const std::string cookie = CookieFor(kToken);
    for (const std::string& right : {cookie, "a=b; " + cookie + "; c=d"}) {
      request.cookie = right;
      EXPECT_EQ(StatusOf(rules, request), 200u) << right;
    }
    const std::string name = cookie.substr(0, cookie.find('='));
    for (const std::string& wrong :
         {name + "=0123456789abcdeg", std::string("token=0123456789abcdef"), "x-" + cookie,
          name + "=", std::string(";;; ;"), CookieFor("another0123456789")}) {
      request.cookie = wrong;
      EXPECT_EQ(StatusOf(rules, request), 401u) << wrong;
    }
  }
}

// The address that the browser shows and remembers is the one without it. It stays on this host,
// whatever the path is.
TEST(GateTest, ATokenInTheAddressBecomesACookie) {
  const Gate gate({.token = kToken});
  for (const char* path : {"/", "/a/b/", "//evil.example/", "/\\evil.example"}) {
    const auto answer = gate.Stop(Request(std::string(path) + "?a=b&token=0123456789abcdef"));
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 303u);
    EXPECT_EQ(Header(*answer, "Location"), "?") << "the same path";
    EXPECT_THAT(Header(*answer, "Set-Cookie"),
                testing::MatchesRegex("starling-[0-9a-f]+=0123456789abcdef; Path=/; HttpOnly; "
                                      "SameSite=Lax"));
  }
  PageRequest next = Request("/");
  next.cookie = CookieFor(kToken);
  EXPECT_FALSE(gate.Stop(next));
}

// Ports share cookies.
TEST(GateTest, RunsWithDifferentTokensHaveDifferentCookies) {
  const std::string one = CookieFor(kToken), other = CookieFor("another0123456789");
  EXPECT_NE(one.substr(0, one.find('=')), other.substr(0, other.find('=')));
}

TEST(GateTest, AReaderWithoutATokenIsAskedForIt) {
  const Gate gate({.token = kToken});
  const auto answer = gate.Stop(Request("/"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(HtmlMistake(*answer->body), "");
  EXPECT_THAT(*answer->body, HasSubstr("name=\"token\""));
  EXPECT_THAT(*answer->body, Not(HasSubstr("another one")));
  EXPECT_EQ(Header(*answer, "WWW-Authenticate"), "Bearer");
  EXPECT_THAT(Header(*answer, "Content-Security-Policy"), HasSubstr("default-src 'none'"));
  const auto wrong = gate.Stop(Request("/?token=0123456789abcdeg"));
  EXPECT_EQ(wrong->status, 401u);
  EXPECT_THAT(*wrong->body, HasSubstr("another one"));
  EXPECT_THAT(*wrong->body, Not(HasSubstr("0123456789")));
}

TEST(GateTest, ANonceIsNewEachTime) {
  EXPECT_EQ(NewNonce().size(), 32u);
  EXPECT_NE(NewNonce(), NewNonce());
}

using ReadTokenTest = TempDirTest;

TEST_F(ReadTokenTest, IsOneLongPlainLine) {
  const auto file = dir_ / "token";
  for (const char* good : {"0123456789abcdef", "0123456789abcdef\n", "A-b._~0123456789\r\n"}) {
    WriteFileAtomically(file, good);
    EXPECT_EQ(ReadToken(file).size(), 16u) << good;
  }
  for (const char* bad : {"", "\n", "short", "0123456789abcde f", "0123456789abcdef\n\nx",
                          "0123456789abcdef;", "\"0123456789abcdef\""}) {
    WriteFileAtomically(file, bad);
    EXPECT_THAT([&] { ReadToken(file); },
                testing::ThrowsMessage<UserError>(testing::AllOf(
                    testing::StartsWith("status.token_file = "), HasSubstr("one line of 16 to"))))
        << bad;
  }
  WriteFileAtomically(file, std::string(1001, 'x'));
  EXPECT_THROW(ReadToken(file), UserError);
  WriteFileAtomically(file, std::string(100'000, 'x'));
  EXPECT_THROW(ReadToken(file), UserError);
  EXPECT_THAT([&] { ReadToken(dir_ / "none"); },
              testing::ThrowsMessage<UserError>(HasSubstr("cannot be read: No such file")));
}

}  // namespace
}  // namespace starling::monitor
