#include "tools/watch/run_pages.h"

#include <gmock/gmock.h>

#include "tests/support/count_in.h"
#include "tests/support/html.h"
#include "tests/support/written_run.h"

namespace starling::watch {
namespace {

using testing::HasSubstr;

class WatchTest : public TempDirTest {
 protected:
  WatchTest() { clock_.AdvanceMs(1'000'000); }
  void Write(const std::string& name, const WrittenRun& run = {}) {
    WriteRun(dir_, name, run);
    dir_.Write(name + "/config.toml",
               ConfigOf(run) + fmt::format("[wire]\nruntime_dir = \"{}\"\n", dir_.path().string()));
  }

  FakeClock clock_;
};

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

TEST_F(WatchTest, ADirectoryListsItsRuns) {
  Write("a");
  Write("sweep/b", {.steps = 400, .error = "no room"});
  Write("odd?name");
  ListPages pages(dir_.path(), clock_);
  const auto list = pages.Answer("/");
  EXPECT_EQ(list.status, 200u);
  EXPECT_EQ(HtmlMistake(*list.body), "");
  EXPECT_THAT(*list.body, HasSubstr("<a href=\"a/\">a</a></td><td class=\"word\">finished"));
  EXPECT_THAT(*list.body, HasSubstr("<a href=\"sweep/b/\">"));
  EXPECT_THAT(*list.body, HasSubstr("no room"));
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 2u);
  EXPECT_THAT(*pages.Answer("/a/").body, HasSubstr("finished after 1,000 steps"));
  EXPECT_THAT(*pages.Answer("/sweep/b/parts").body, HasSubstr("failed at 400 steps"));
  EXPECT_EQ(pages.Answer("/sweep/b/status.json").status, 503u);
  for (const char* path : {"/c/", "/sweep/", "/a", "/a/x", "/sweep/../a/", "//", "/a//"}) {
    EXPECT_EQ(pages.Answer(path).status, 404u) << path;
  }
  EXPECT_EQ(pages.Answer("/healthz").status, 200u);
}

TEST_F(WatchTest, ARunThatComesAndGoesIsListedAndNot) {
  ListPages pages(dir_.path(), clock_);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr("there is no run here yet"));
  Write("a");
  clock_.AdvanceMs(2000);
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 1u);
  std::filesystem::remove_all(dir_ / "a");
  clock_.AdvanceMs(2000);
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 0u);
  EXPECT_EQ(pages.Answer("/a/").status, 404u);
}

}  // namespace
}  // namespace starling::watch
