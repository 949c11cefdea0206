#include "tools/watch/list_pages.h"

#include <gmock/gmock.h>

#include "tests/support/count_in.h"
#include "tests/support/html.h"
#include "tests/tools/watch/watch_fixture.h"
#include "wire/runtime_dir.h"

namespace starling::watch {
namespace {

using testing::HasSubstr;

using ListPagesTest = WatchTest;

TEST(AddressTest, ThereAndBack) {
  EXPECT_EQ(AsAddress("a/b-1_2.3~"), "a/b-1_2.3~");
  EXPECT_EQ(AsAddress("a b:?#%\xc3\xa9"), "a%20b%3A%3F%23%25%C3%A9");
  for (const char* path : {"", "a/b", "a b", "100%", "%", "%4", "%zz", "a+b", "caf\xc3\xa9"}) {
    EXPECT_EQ(FromAddress(AsAddress(path)), path);
  }
  EXPECT_EQ(FromAddress("a%2Fb%2e%"), "a/b.%");
}

TEST_F(ListPagesTest, ListsTheRunsOfADirectory) {
  Write("a");
  Write("sweep/b", {.steps = 400, .error = "no room"});
  Write("odd? name");
  ListPages pages(dir_.path(), clock_);
  const auto list = pages.Answer("/");
  EXPECT_EQ(list.status, 200u);
  EXPECT_EQ(HtmlMistake(*list.body), "");
  EXPECT_THAT(*list.body, HasSubstr("<a href=\"./a/\">a</a></td><td class=\"word\">finished</td>"
                                    "<td class=\"word\">catch</td>"));
  EXPECT_THAT(*list.body, HasSubstr("<a href=\"./sweep/b/\">"));
  EXPECT_THAT(*list.body, HasSubstr("no room"));
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 3u);
  EXPECT_THAT(*pages.Answer("/a/").body, HasSubstr("after 1,000 steps"));
  EXPECT_THAT(*pages.Answer("/sweep/b/parts").body, HasSubstr("at 400 steps"));
  EXPECT_THAT(*pages.Answer("/odd%3F%20name/parts").body, HasSubstr("after 1,000"));
  EXPECT_EQ(pages.Answer("/sweep/b/status.json").status, 503u);
  for (const char* path :
       {"/c/", "/sweep/", "/a", "/a/x", "/sweep/../a/", "/%2e%2e/a/", "//", "/a//", ""}) {
    EXPECT_EQ(pages.Answer(path).status, 404u) << path;
  }
  EXPECT_EQ(pages.Answer("/healthz").status, 200u);
}

TEST_F(ListPagesTest, ARunThatComesAndGoesIsListedAndNot) {
  ListPages pages(dir_.path(), clock_);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr("there is no run here yet"));
  Write("a");
  clock_.AdvanceMs(2000);
  EXPECT_EQ(pages.Answer("/a/").status, 200u) << "also if nobody has asked for the list";
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 1u);
  std::filesystem::remove_all(dir_ / "a");
  clock_.AdvanceMs(2000);
  EXPECT_EQ(CountIn(*pages.Answer("/parts").body, "<a href"), 0u);
  EXPECT_EQ(pages.Answer("/a/").status, 404u);
}

TEST_F(ListPagesTest, ARunThatIsAtWorkIsRunning) {
  Write("a", {.steps = 400, .summary = false});
  ListPages pages(dir_.path(), clock_);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr(">unfinished</td>"));
  const auto learner =
      wire::RuntimeDir::Create(wire::RuntimeRoot(dir_.path().string()), dir_ / "a");
  clock_.AdvanceMs(2000);
  EXPECT_THAT(*pages.Answer("/parts").body, HasSubstr(">running</td>"));
}

}  // namespace
}  // namespace starling::watch
