#include "tools/watch/run_pages.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/file.h"
#include "monitor/fleet_status.h"
#include "tests/monitor/http/published.h"
#include "tests/support/html.h"
#include "tests/tools/watch/watch_fixture.h"
#include "wire/runtime_dir.h"

namespace starling::watch {
namespace {

using testing::HasSubstr;

TEST_F(WatchTest, ARunThatIsOverHasItsPage) {
  Write("a");
  RunPages pages(dir_ / "a", clock_);
  const auto page = pages.Answer("/");
  EXPECT_EQ(page.status, 200u);
  EXPECT_EQ(HtmlMistake(*page.body), "");
  EXPECT_THAT(*page.body, HasSubstr("<title>a – Starling</title>"));
  ASSERT_EQ(page.headers.size(), 1u);
  EXPECT_EQ(page.headers[0].first, "Content-Security-Policy");
  // The policy and the page name the same script; the next page another one.
  const std::string& policy = page.headers[0].second;
  const std::size_t at = policy.find("script-src 'nonce-") + 18;
  EXPECT_THAT(*page.body, HasSubstr("<script nonce=\"" + policy.substr(at, 32) + "\">"));
  EXPECT_NE(pages.Answer("/").headers[0].second, policy);
  const auto parts = pages.Answer("/parts");
  EXPECT_THAT(*page.body, HasSubstr(*parts.body));
  for (const char* path : {"/status.json", "/metrics", "/healthz"}) {
    EXPECT_EQ(pages.Answer(path).status, 503u) << path;
    EXPECT_EQ(*pages.Answer(path).body, "over: no process of this run is at work here\n");
  }
  for (const char* path : {"/x", "//", "/parts/", "/../a", ""}) {
    EXPECT_EQ(pages.Answer(path).status, 404u) << path;
  }
}

// However many ask: a page is made once in 0.9 s.
TEST_F(WatchTest, APageIsMadeOnceForAll) {
  Write("a");
  RunPages pages(dir_ / "a", clock_);
  const std::string before = *pages.Answer("/parts").body;
  dir_.Write("a/log", "news\n");
  EXPECT_EQ(*pages.Answer("/parts").body, before);
  clock_.AdvanceMs(900);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr("news"));
}

// The run itself has started them, and has not begun.
TEST_F(WatchTest, ARunThatBeginsIsNotOver) {
  RunPages pages(dir_ / "a", clock_, /*begins=*/true);
  EXPECT_THAT(*pages.Answer("/healthz").body, HasSubstr("starting: "));
  EXPECT_THAT(*pages.Answer("/").body, HasSubstr("it has no configuration yet"));
  Write("a", {.steps = 0, .summary = false});
  clock_.AdvanceMs(1000);
  EXPECT_THAT(*pages.Answer("/healthz").body, HasSubstr("starting: "));
  {
    const auto learner =
        wire::RuntimeDir::Create(wire::RuntimeRoot(dir_.path().string()), dir_ / "a");
    clock_.AdvanceMs(1000);
    EXPECT_THAT(*pages.Answer("/healthz").body, HasSubstr("starting: "));
  }
  clock_.AdvanceMs(1000);
  EXPECT_THAT(*pages.Answer("/healthz").body, HasSubstr("over: "));
}

// Under a supervisor: the pages outlive a learner, and say so.
TEST_F(WatchTest, ALearnerThatDiesIsMissed) {
  using wire::RuntimeDir;
  Write("a", {.steps = 0, .summary = false});
  const auto root = wire::RuntimeRoot(dir_.path().string());
  const auto supervisor = RuntimeDir::Create(root, RuntimeDir::FleetOf(dir_ / "a"));
  const auto tell = [&](const monitor::FleetStatus& fleet) {
    ReplaceFile(supervisor.path() / "status", ToText(fleet));
    clock_.AdvanceMs(1000);
  };
  auto learner = std::optional(RuntimeDir::Create(root, dir_ / "a"));
  ReplaceFile(learner->path() / "status", ToJson(*monitor::MakePublished(clock_.NowMs())).dump());
  RunPages pages(dir_ / "a", clock_);
  tell({.learner_alive = true});
  EXPECT_EQ(*pages.Answer("/healthz").body, "ok\n");
  EXPECT_EQ(pages.Answer("/metrics").status, 200u);
  learner.reset();
  tell({.learner_alive = false});
  EXPECT_EQ(*pages.Answer("/healthz").body, "gone: the learner has died; another one follows\n");
  EXPECT_EQ(pages.Answer("/healthz").status, 503u);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr(">learner gone</span>"));
  tell({.learner_alive = false, .over = true});
  EXPECT_THAT(*pages.Answer("/healthz").body, testing::Not(HasSubstr("gone"))) << "in order";
}

}  // namespace
}  // namespace starling::watch
