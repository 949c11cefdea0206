// The status pages of real runs.
#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/http_client.h"
#include "tests/support/plain_tcp.h"
#include "tests/support/prometheus_parser.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StatusPagesTest : public RunTest {
 protected:
  std::string Port() const { return fmt::format("status.port={}", port_.port()); }
  json Status() const {
    return json::parse(Get(port_.port(), "/status.json").body, nullptr, false);
  }
  // The first status for which `condition` holds.
  template <class Condition>
  json AwaitStatus(Process& run, Condition condition) const {
    json status;
    const bool came = Eventually([&] {
      status = Status();
      return (status.is_object() && condition(status)) || !run.Running();
    });
    EXPECT_TRUE(came && status.is_object()) << run.err();
    return status.is_object() ? status : json::object();
  }
  json AwaitUpdates(Process& run, std::uint64_t more) const {
    std::optional<std::uint64_t> first;
    return AwaitStatus(run, [&](const json& status) {
      const auto updates = status["updates"].get<std::uint64_t>();
      if (!first) first = updates;
      return updates >= *first + more;
    });
  }
  // Addresses on which `pid` accepts tcp connections, as the kernel writes them: "0100007F:1F90".
  static std::vector<std::string> Listening(pid_t pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    std::string sockets;
    for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
      std::error_code ignored;
      sockets += std::filesystem::read_symlink(entry.path(), ignored).string() + "\n";
    }
    std::vector<std::string> found;
    for (const char* table : {"/net/tcp", "/net/tcp6"}) {
      std::istringstream lines(TextOf(process + table));
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        const std::vector<std::string> row(std::istream_iterator<std::string>{words}, {});
        const bool listens = row.size() > 9 && row[3] == "0A";
        if (listens && sockets.find("socket:[" + row[9] + "]") != std::string::npos) {
          found.push_back(row[1]);
        }
      }
    }
    return found;
  }

  const ReservedPort port_;
};

// The page of metrics and the status of one and the same moment.
std::pair<PrometheusPage, json> SameMoment(std::uint16_t port) {
  std::optional<std::pair<PrometheusPage, json>> both;
  EXPECT_TRUE(Eventually([&] {
    const auto metrics = Get(port, "/metrics"), status = Get(port, "/status.json");
    if (metrics.status != 200 || status.status != 200) return false;
    both.emplace(PrometheusPage(metrics.body), json::parse(status.body));
    return both->first.Value("starling_status_timestamp_seconds") == both->second["unix_seconds"];
  }));
  return *std::move(both);
}

TEST_F(StatusPagesTest, TellOfARun) {
  auto train = StartTrain({Port(), Steps(kEndless), "actors.count=2", "staleness.bound=4"});
  AwaitUpdates(*train, 20);
  EXPECT_TRUE(Eventually([&] { return Get(port_.port(), "/healthz").body == "ok\n"; }));
  const auto [page, status] = SameMoment(port_.port());
  EXPECT_EQ(status["phase"], "running");
  EXPECT_EQ(status["run"]["env"], "catch");
  EXPECT_EQ(status["actors_alive"], 2);
  ASSERT_EQ(status["actors"].size(), 2u);
  for (int slot = 0; slot < 2; ++slot) {
    const json& actor = status["actors"][static_cast<std::size_t>(slot)];
    EXPECT_EQ(actor["alive"], true);
    EXPECT_EQ(actor["pid"], ActorPid(slot));
    EXPECT_GE(actor["silent_seconds"], 0.0);
    EXPECT_EQ(page.Value("starling_actor_steps_total", {{"slot", std::to_string(slot)}}),
              actor["steps"]);
  }
  EXPECT_EQ(page.Value("starling_updates_total"), status["updates"]);
  EXPECT_EQ(page.Value("starling_steps_total"), status["steps"]);
  EXPECT_EQ(page.Value("starling_gradients_applied_total"), status["gradients"]["applied"]);
  // The histogram holds all applied gradients, none above the bound.
  EXPECT_EQ(page.Value("starling_staleness_count"), status["gradients"]["applied"]);
  EXPECT_EQ(page.Value("starling_staleness_bucket", {{"le", "4"}}), status["gradients"]["applied"]);
  Interrupt(*train);
  EXPECT_EQ(Get(port_.port(), "/healthz").status, 0) << "gone with the run";
}

TEST_F(StatusPagesTest, OfALearnerByHandThatWaitsForItsActors) {
  auto learner = StartLearner({Port(), Steps(kEndless), "actors.count=2"});
  const json status = AwaitStatus(*learner, [](const json&) { return true; });
  EXPECT_EQ(status["phase"], "waiting");
  EXPECT_EQ(status["actors"], json::array({{{"slot", 0}, {"alive", false}, {"left", nullptr}},
                                           {{"slot", 1}, {"alive", false}, {"left", nullptr}}}));
  EXPECT_TRUE(Eventually([&] { return Get(port_.port(), "/healthz").status == 200; }));
  EXPECT_EQ(PrometheusPage(Get(port_.port(), "/metrics").body).Value("starling_actors_alive"), 0);
  EXPECT_THAT(Listening(learner->pid()), testing::IsEmpty()) << "a process of its own serves them";
  const auto pages = Find("starling");
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_THAT(Listening(pages.front().pid),
              testing::ElementsAre(fmt::format("0100007F:{:04X}", port_.port())));
  learner->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*learner), 130) << said_;
}

TEST_F(StatusPagesTest, AreOffByDefault) {
  auto train = StartTrain({Steps(kEndless), "actors.count=1"});
  ASSERT_TRUE(AwaitActors(*train, 1));
  ASSERT_GT(LearnerPid(), 0);
  EXPECT_THAT(Listening(LearnerPid()), testing::IsEmpty());
  EXPECT_THAT(Listening(train->pid()), testing::IsEmpty());
  Interrupt(*train);
}

TEST_F(StatusPagesTest, ComeBackWithALearnerThatWasKilled) {
  auto train =
      StartTrain({Port(), Steps(kEndless), "actors.count=2", "checkpoint.every_steps=16000"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const json before = AwaitUpdates(*train, 1);
  // Somebody is in the middle of reading: its connection lingers where the next one listens.
  const HttpClient half(port_.port());
  ASSERT_TRUE(half.Send("GET /healthz HT"));
  kill(LearnerPid(), SIGKILL);
  const json after = AwaitStatus(*train, [](const json& status) { return status["term"] == 2; });
  EXPECT_EQ(before["term"], 1);
  EXPECT_EQ(after["term"], 2);
  AwaitUpdates(*train, 20);
  Interrupt(*train);
}

TEST_F(StatusPagesTest, APageShowsTheRunAndOutlivesItsServersDeath) {
  auto train = StartTrain({Port(), Steps(kEndless), "actors.count=2", "staleness.bound=4"});
  AwaitUpdates(*train, 20);
  const auto whole = [&] {
    const std::string page = Get(port_.port(), "/").body;
    return CountIn(page, "<polyline class=\"line") == 2 && CountIn(page, "class=\"bound\"") == 1 &&
           CountIn(page, "<td class=\"word good\">alive</td>") == 2;
  };
  EXPECT_TRUE(Eventually(whole)) << Get(port_.port(), "/").body;
  std::vector<Running> pages = Find("starling");
  std::erase_if(pages, [&](const Running& one) { return one.pid == train->pid(); });
  ASSERT_EQ(pages.size(), 1u);
  kill(pages.front().pid, SIGKILL);
  EXPECT_TRUE(AwaitLog(*train, "the server of the status pages (pid"));
  EXPECT_TRUE(Eventually(whole)) << "the next one";
  EXPECT_TRUE(train->Running());
  Interrupt(*train);
}

TEST_F(StatusPagesTest, ARunIsWatchedByHandWhileItLivesAndAfterwards) {
  auto train = StartTrain({Steps(kEndless), "actors.count=2"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  auto watch = Start("starling", {"watch", run().string(), "--port", std::to_string(port_.port())});
  const auto shows = [&](const std::string& text) {
    return Eventually([&] { return CountIn(Get(port_.port(), "/parts").body, text) == 1; });
  };
  EXPECT_TRUE(shows(">live</span>")) << watch->err();
  train->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*train), 130) << said_;
  EXPECT_TRUE(shows(">interrupted</span>"));
  watch->Signal(SIGINT);
  EXPECT_EQ(WaitFor(*watch), 0);
  ExpectNothingLeft();
  EXPECT_EQ(watch->out(), fmt::format("http://127.0.0.1:{}/ (Ctrl-C ends it)\n", port_.port()));
}

// The process of the pages is told the address: the file has that of the run before.
TEST_F(StatusPagesTest, AResumedRunMayHaveAnotherPort) {
  ASSERT_EQ(Train({Steps(1600), "actors.count=1"}), 0) << said_;
  auto train = Start("starling", ResumeWords({Port(), Steps(kEndless)}));
  AwaitUpdates(*train, 20);
  EXPECT_TRUE(Eventually([&] {
    return CountIn(Get(port_.port(), "/parts").body, ">live</span>") == 1;
  })) << Get(port_.port(), "/parts").body;
  Interrupt(*train);
}

// While somebody looks, and with the weights of a run that is over as well.
TEST_F(StatusPagesTest, ThePolicyPlays) {
  auto train = StartTrain({Port(), Steps(kEndless), "actors.count=1"});
  AwaitUpdates(*train, 20);
  std::set<std::string> pictures;
  const auto look = [&] {
    const json shown = json::parse(Get(port_.port(), "/play").body, nullptr, false);
    if (shown.is_object() && shown["png"] != "") pictures.insert(shown["png"]);
    return pictures.size() >= 3;
  };
  EXPECT_TRUE(Eventually(look)) << Get(port_.port(), "/play").body;
  Interrupt(*train);
  pictures.clear();
  auto watch = Start("starling", {"watch", run().string(), "--port", std::to_string(port_.port())});
  EXPECT_TRUE(Eventually(look)) << Get(port_.port(), "/play").body;
  watch->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*watch), 0);
  ExpectNothingLeft();
}

// A game that crashes costs the picture.
TEST_F(StatusPagesTest, APolicyThatCannotPlaySaysWhy) {
  auto train = StartTrain({Port(), Steps(kEndless), "actors.count=1"});
  AwaitUpdates(*train, 20);
  const auto shows = [&](const std::string& text) {
    return Eventually([&] { return CountIn(Get(port_.port(), "/play").body, text) > 0; });
  };
  EXPECT_TRUE(shows("step "));
  for (const Running& one : Find("starling")) {
    if (one.After("--play") == "--parent") kill(one.pid, SIGKILL);
  }
  EXPECT_TRUE(shows("the game was killed by SIGKILL; it is started again"));
  EXPECT_TRUE(shows("step "));
  EXPECT_TRUE(train->Running());
  Interrupt(*train);
}

TEST_F(StatusPagesTest, WithATokenAReaderMustKnowIt) {
  const std::string token = "0123456789abcdef";
  dir_.Write("token", token + "\n");
  auto train = StartTrain({Port(), Steps(kEndless), "actors.count=1",
                           "status.token_file=" + (dir_ / "token").string()});
  ASSERT_TRUE(Eventually([&] { return Get(port_.port(), "/healthz").body == "ok\n"; }));
  EXPECT_EQ(Get(port_.port(), "/metrics").status, 200);
  EXPECT_EQ(Get(port_.port(), "/status.json").status, 401);
  const std::string head = "GET /status.json HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_EQ(Ask(port_.port(), head + "Authorization: Bearer " + token + "\r\n\r\n").status, 200);
  const std::string cookie = Get(port_.port(), "/?token=" + token).headers["set-cookie"];
  EXPECT_THAT(cookie, HasSubstr("=" + token + "; "));
  EXPECT_EQ(
      Ask(port_.port(), head + "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n\r\n").status,
      200);
  Interrupt(*train);
}

TEST_F(StatusPagesTest, ATokenThatIsNoneIsRefusedBeforeThereIsARun) {
  EXPECT_EQ(Train({Port(), "status.token_file=" + (dir_ / "none").string()}), 2);
  EXPECT_THAT(said_, HasSubstr("cannot be read: No such file"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(StatusPagesTest, APortThatIsTakenIsRefusedBeforeThereIsARun) {
  port_.Listen();
  const std::string sentence = fmt::format("status.port = {}: 127.0.0.1:{} cannot be listened on",
                                           port_.port(), port_.port());
  EXPECT_EQ(Train({Port()}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("--set " + Port() + ": " + sentence),
                           HasSubstr("choose another port")));
  EXPECT_FALSE(std::filesystem::exists(run()));
  auto learner = StartLearner({Port()});
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr(sentence));
  EXPECT_FALSE(std::filesystem::exists(run()));
  ExpectNothingLeft();
}

TEST_F(StatusPagesTest, APortThatIsTakenIsRefusedBeforeARunGoesOn) {
  ASSERT_EQ(Train({Port(), Steps(1600), "actors.count=1"}), 0) << said_;
  port_.Listen();
  const std::string log = Log();
  EXPECT_EQ(WaitFor(*Start("starling", ResumeWords({Steps(kEndless)}))), 2);
  EXPECT_THAT(said_, HasSubstr("cannot be listened on"));
  auto learner = ResumeLearner();
  EXPECT_EQ(WaitFor(*learner), 2);
  EXPECT_THAT(learner->err(), HasSubstr("cannot be listened on"));
  EXPECT_EQ(Log(), log);
}

}  // namespace
}  // namespace starling
