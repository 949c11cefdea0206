// The status pages over real sockets, and readers that mean no good.
#include "monitor/http/status_server.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "monitor/http/gate.h"
#include "monitor/http/pages.h"
#include "tests/monitor/http/published.h"
#include "tests/support/http_client.h"
#include "tests/support/plain_tcp.h"
#include "tests/support/prometheus_parser.h"

namespace starling::monitor {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class StatusServerTest : public testing::Test {
 protected:
  // `patience` is long in tests that cut no reader off.
  void Start(milliseconds patience = std::chrono::minutes(5), std::size_t readers = 32) {
    Serve({.patience = patience, .max_readers = readers});
  }
  void Serve(const StatusServerOptions& options) {
    server_.emplace(options, [this](const PageRequest& request) { return Answer(request); });
  }
  std::uint16_t port() const { return server_->port(); }
  // Shows a page that is larger than the kernel's buffer for a reader.
  void ShowLargeFleet() {
    auto published = MakePublished();
    const std::string host(1024, 'x');
    for (std::uint32_t slot = 4; slot < 1024; ++slot) {
      published->actors.push_back({.slot = slot, .alive = true, .host = host});
    }
    published_ = std::move(published);
  }

 private:
  PageAnswer Answer(const PageRequest& request) const {
    if (auto stopped = Gate({}).Stop(request)) return *std::move(stopped);
    const bool head = request.method == "HEAD";
    if (request.path() == "/healthz") return Sentence(200, "ok");
    if (request.path() == "/metrics") {
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = std::make_shared<const std::string>(MetricsPage(config_, *published_)),
              .head_only = head};
    }
    if (request.path() != "/status.json") return Sentence(404, "no such page");
    return {.content_type = "application/json",
            .body = std::make_shared<const std::string>(StatusPage(config_, *published_)),
            .head_only = head};
  }

  const Config config_ = ParseConfig("", "x.toml");
  std::shared_ptr<const learner::PublishedStatus> published_ = MakePublished();

 protected:
  std::optional<StatusServer> server_;
};

TEST_F(StatusServerTest, ServesThreePages) {
  Start();
  const HttpAnswer metrics = Get(port(), "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.headers.at("connection"), "close");
  EXPECT_EQ(metrics.headers.at("cache-control"), "no-store");
  EXPECT_EQ(metrics.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(PrometheusPage(metrics.body).Value("starling_version"), 5);
  const HttpAnswer status = Get(port(), "/status.json?at=once");
  EXPECT_EQ(status.headers.at("content-type"), "application/json");
  EXPECT_EQ(nlohmann::json::parse(status.body)["actors"].size(), 4u);
  EXPECT_EQ(Get(port(), "/healthz").body, "ok\n");
}

TEST_F(StatusServerTest, AHeadIsAHead) {
  Start();
  const std::string body = Get(port(), "/status.json").body;
  const HttpAnswer head =
      Ask(port(), "HEAD /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n", /*head_only=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(body.size()));
}

TEST_F(StatusServerTest, BadRequestsAreAnsweredAndHarmNobody) {
  Start();
  const std::string get = "GET /metrics HTTP/1.1\r\n", host = "Host: localhost\r\n\r\n";
  const std::string much(20'000, 'x');
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "A" + std::to_string(i) + ": b\r\n";
  const std::pair<std::string, int> cases[] = {
      {"nonsense\r\n\r\n", 400},
      {"GET /metrics\r\n\r\n", 400},
      {"GET /metrics HTTP/7.5\r\n" + host, 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\n", 18) + host, 400},
      {get + "Host localhost\r\n\r\n", 400},
      {get + "Content-Length: x\r\n" + host, 400},
      {get + "\r\n", 400},
      {get + "Host: localhost\r\n" + host, 400},
      {get + "Host: evil.example\r\n\r\n", 403},
      {"GET /nothing HTTP/1.1\r\n" + host, 404},
      {"\x16\x03\x01\x02\x05\x01\r\n\r\n", 400},  // TLS
      {"GET /healthz HTTP/1.0\r\n\r\n", 200},     // an old one, but a good one
      // A body is not taken: the answer arrives whole though it was never read.
      {get + "Content-Length: 50000\r\n" + host + std::string(50'000, 'x'), 413},
      {get + "Transfer-Encoding: chunked\r\n" + host + "0\r\n\r\n", 413},
      {"GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n" + host, 200},
      // Too large.
      {get + "X: " + much + "\r\n" + host, 431},
      {"GET /" + much + " HTTP/1.1\r\n" + host, 431},
      {much + much, 431},
      {get + many + host, 431},
  };
  for (const auto& [request, status] : cases) {
    EXPECT_EQ(Ask(port(), request).status, status) << request.substr(0, 60);
  }
  EXPECT_EQ(Get(port(), "/healthz").status, 200);
}

TEST_F(StatusServerTest, OtherMethodsAreToldWhichThereAre) {
  Start();
  const HttpAnswer answer =
      Ask(port(), "POST /status.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD");
}

TEST_F(StatusServerTest, WhoSaysNothingIsCutOff) {
  Start(milliseconds(50));
  const HttpClient silent(port()), half(port());
  ASSERT_TRUE(silent.connected());
  half.Send("GET /healthz HT");
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(half.ReadAll(), "");
}

// A byte now and then does not gain time: the deadline is for the whole request.
TEST_F(StatusServerTest, WhoDripsIsCutOff) {
  Start(milliseconds(500));
  const HttpClient dripping(port());
  ASSERT_TRUE(dripping.Send("GET /healthz HTTP/1.1\r\nX: "));
  while (dripping.Send("x") && !dripping.AwaitHangUp(5)) {
  }
  while (Get(port(), "/healthz").status != 200) {  // one that is too slow to ask is cut off, too
  }
}

TEST_F(StatusServerTest, WhoDoesNotReadIsCutOff) {
  Start(milliseconds(1000));
  ShowLargeFleet();
  const HttpClient slow(port(), /*receive_buffer=*/4096);
  ASSERT_TRUE(slow.Send("GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(slow.AwaitHangUp());
  EXPECT_EQ(ParseHttp(slow.ReadAll()).status, 0) << "it got all of it";
}

TEST_F(StatusServerTest, WhoReadsGetsALargePageWhole) {
  Start();
  ShowLargeFleet();
  const HttpAnswer answer = Get(port(), "/status.json");
  EXPECT_EQ(answer.status, 200);
  EXPECT_GT(answer.body.size(), 1'000'000u);
  EXPECT_EQ(nlohmann::json::parse(answer.body)["actors"].size(), 1024u);
}

TEST_F(StatusServerTest, TheOldestMakesRoomForTheNewest) {
  Start(std::chrono::minutes(5), 4);
  std::vector<HttpClient> idle;
  for (int i = 0; i < 200; ++i) {
    idle.emplace_back(port());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  EXPECT_EQ(Get(port(), "/healthz").body, "ok\n");
  for (int i = 0; i < 190; ++i) EXPECT_TRUE(idle[static_cast<std::size_t>(i)].AwaitHangUp()) << i;
  // The last of them are still listened to.
  ASSERT_TRUE(idle.back().Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_EQ(ParseHttp(idle.back().ReadAll()).body, "ok\n");
}

TEST_F(StatusServerTest, ManyReadersAtOnceEachGetAnAnswer) {
  Start();
  std::vector<std::thread> readers;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      for (int j = 0; j < 20; ++j) good += Get(port(), "/metrics").status == 200;
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(good, 160);
}

TEST_F(StatusServerTest, EndsWithReadersInTheMiddle) {
  Start();
  const HttpClient silent(port()), half(port());
  half.Send("GET /healthz HT");
  EXPECT_EQ(Get(port(), "/healthz").status, 200);
  server_.reset();
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(StatusServerTest, APortThatIsTakenIsNamed) {
  const ReservedPort taken;
  StatusConfig config;
  config.port = taken.port();
  EXPECT_NO_THROW(CheckListen(config));
  taken.Listen();
  const std::string key = "status.port = " + std::to_string(taken.port()) + ": ";
  const auto matches = testing::ThrowsMessage<UserError>(
      AllOf(testing::StartsWith(key), HasSubstr("in use"), HasSubstr("another port")));
  EXPECT_THAT([&] { CheckListen(config); }, matches);
  EXPECT_THAT([&] { Serve({.port = taken.port()}); }, matches);
}

TEST_F(StatusServerTest, TheSamePortAgainAtOnce) {
  const ReservedPort reserved;
  for (int i = 0; i < 3; ++i) {
    Serve({.port = reserved.port()});
    EXPECT_EQ(Get(reserved.port(), "/healthz").status, 200);  // and its connection lingers
    server_.reset();
  }
}

TEST_F(StatusServerTest, OneThatComesBackWaitsForItsPort) {
  std::optional<ReservedPort> taken(std::in_place);
  const std::uint16_t port = taken->port();
  taken->Listen();
  Serve({.port = port, .keep_trying = true});
  taken.reset();
  const SteadyClock clock;
  int status = 0;
  for (const std::int64_t end = clock.NowMs() + 60'000; status != 200 && clock.NowMs() < end;) {
    status = Get(port, "/metrics").status;
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(status, 200);
}

TEST_F(StatusServerTest, IsForThisMachineOnly) {
  Start();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // 127.0.0.2, as good as any other
  EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

}  // namespace
}  // namespace starling::monitor
