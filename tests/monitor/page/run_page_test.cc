#include "monitor/page/run_page.h"

#include <gmock/gmock.h>

#include "core/file.h"
#include "tests/monitor/http/published.h"
#include "tests/support/count_in.h"
#include "tests/support/html.h"
#include "tests/support/written_run.h"
#include "wire/runtime_dir.h"

namespace starling::monitor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunPageTest : public TempDirTest {
 protected:
  RunPageTest() { clock_.AdvanceMs(1'000'000); }

  void Write(const WrittenRun& run, const std::string& more = "") {
    WriteRun(dir_, "run", run);
    dir_.Write("run/config.toml", ConfigOf(run) + fmt::format("[wire]\nruntime_dir = \"{}\"\n{}",
                                                              dir_.path().string(), more));
  }
  void StartLearner(learner::PublishedStatus published) {
    const auto root = wire::RuntimeRoot(dir_.path().string());
    learner_.emplace(wire::RuntimeDir::Create(root, dir_ / "run"));
    published.at_ms = clock_.NowMs();
    ReplaceFile(wire::RuntimeDir::StatusPath(root, dir_ / "run"), ToJson(published).dump());
  }
  std::string Parts() {
    follower_.Look();
    const std::string parts = RunParts(follower_);
    EXPECT_EQ(HtmlMistake(parts), "");
    return parts;
  }

  FakeClock clock_;
  RunFollower follower_{dir_ / "run", clock_};
  std::optional<wire::RuntimeDir> learner_;
};

TEST_F(RunPageTest, AFinishedRunHasCurvesAndItsStaleness) {
  Write({});
  dir_.Write("run/eval.jsonl",
             "{\"steps\":500,\"term\":1,\"version\":3,\"episodes\":100,\"mean_return\":8.31,"
             "\"std\":5.02,\"seconds\":1.9}\n"
             "{\"steps\":1000,\"term\":1,\"version\":6,\"episodes\":100,\"mean_return\":7.5,"
             "\"std\":4,\"seconds\":1.9}\n");
  const std::string parts = Parts();
  EXPECT_THAT(parts, HasSubstr(">finished</span> after 1,000 steps</p>"));
  EXPECT_EQ(CountIn(parts, "<polyline class=\"line"), 2u);
  EXPECT_EQ(CountIn(parts, "<rect class=\"bar"), 4u);
  EXPECT_EQ(CountIn(parts, "class=\"bound\""), 1u);
  EXPECT_THAT(parts, HasSubstr("last: mean return 7.50 ± 4.00 over 100 episodes, with the weights "
                               "of 1,000 steps"));
  EXPECT_THAT(parts, HasSubstr("best: mean return 8.31"));
  EXPECT_THAT(parts, HasSubstr("learner started, pid 3"));
  EXPECT_THAT(parts, HasSubstr("none is at work"));
}

TEST_F(RunPageTest, AnActorHasARow) {
  Write({.steps = 0, .summary = false}, "[actors]\ncount = 4\n");
  StartLearner(*MakePublished());
  const std::string parts = Parts();
  EXPECT_EQ(CountIn(parts, "<tr><td>"), 4u);
  EXPECT_THAT(parts,
              HasSubstr("<tr><td>0</td><td class=\"word good\">alive</td><td>4</td><td>1</td>"));
  EXPECT_THAT(parts, HasSubstr("dead: said goodbye"));
  EXPECT_THAT(parts, HasSubstr("mean 1.33, max 5, staleness bound 4, wait"));
}

// 1,024 rows would make a page that is too large to ask for once a second.
TEST_F(RunPageTest, OfALargeFleetThoseAreShownThatDeserveALook) {
  Write({.steps = 0, .summary = false}, "[actors]\ncount = 1000\n");
  auto published = MakePublished();
  published->actors.clear();
  for (int slot = 0; slot < 1000; ++slot) {
    published->actors.push_back({.slot = slot,
                                 .accepted = 3,
                                 .version = 4,
                                 .alive = slot != 777,
                                 .left = slot == 777 ? "was silent" : ""});
  }
  StartLearner(*published);
  const std::string parts = Parts();
  EXPECT_EQ(CountIn(parts, "<tr><td>"), 64u);
  EXPECT_THAT(parts, HasSubstr("<tr><td>777</td><td class=\"word poor\">dead: was silent</td>"));
  EXPECT_THAT(parts, HasSubstr("and 936 more: "));
  EXPECT_LT(Document("t", parts, "n").size(), 150'000u);
}

TEST_F(RunPageTest, NothingThatARunSaysIsHtml) {
  const std::string evil = "</pre><script>alert(1)</script>";
  Write({.steps = 0, .summary = false, .env = "<b>catch"}, "[actors]\ncount = 4\n");
  dir_.Write("run/log", evil + "\n\xff\n");
  auto published = MakePublished();
  published->actors[1].left = evil;
  StartLearner(*published);
  const std::string parts = Parts();
  EXPECT_THAT(parts, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<b>"))));
  EXPECT_EQ(CountIn(parts, "&lt;script&gt;alert(1)"), 2u) << "of the log and of the actor";
  EXPECT_THAT(parts, HasSubstr("&lt;b&gt;catch"));
}

TEST_F(RunPageTest, WithoutAConfigurationItSaysWhy) {
  Write({});
  dir_.Write("run/config.toml", "[run]\nsteps = \"<i>\"\n");
  const std::string parts = Parts();
  EXPECT_THAT(parts, HasSubstr("unreadable"));
  EXPECT_THAT(parts, AllOf(HasSubstr("run.steps = &quot;&lt;i&gt;"), Not(HasSubstr("<i>"))));
}

TEST_F(RunPageTest, WhyItFailedIsNoHtmlEither) {
  Write({.steps = 500, .error = "no <room> & time"});
  EXPECT_THAT(Parts(), HasSubstr("at 500 steps: no &lt;room&gt; &amp; time"));
}

TEST_F(RunPageTest, ARunThatHasJustBegun) {
  Write({.steps = 0, .summary = false});
  std::filesystem::remove(dir_ / "run/metrics.jsonl");
  std::filesystem::remove(dir_ / "run/log");
  const std::string parts = Parts();
  EXPECT_THAT(parts, HasSubstr("no episode has ended yet"));
  EXPECT_THAT(parts, HasSubstr("no gradient was applied"));
  EXPECT_THAT(parts, HasSubstr("it is empty"));
  EXPECT_THAT(parts, HasSubstr("eval.every_steps turns it on"));
}

TEST(DocumentTest, ObeysOneScriptAndOneStyle) {
  const std::string page = Document("a <b>", "<section id=\"x\"></section>\n", "abc");
  EXPECT_EQ(HtmlMistake(page), "");
  EXPECT_THAT(page, HasSubstr("<title>a &lt;b&gt;</title>"));
  EXPECT_EQ(CountIn(page, "<script nonce=\"abc\">"), 1u);
  EXPECT_EQ(CountIn(page, "<style nonce=\"abc\">"), 1u);
  EXPECT_EQ(CountIn(page, "http"), 0u) << "nothing from elsewhere";
  EXPECT_EQ(CountIn(page, " style=\""), 0u) << "the policy forbids it";
}

TEST(ListPartTest, HasARowForEachRun) {
  const std::string part = ListPart({{.link = "./a%20b/",
                                      .name = "a b",
                                      .state = "failed",
                                      .env = "<env>",
                                      .steps = 2e6,
                                      .mean_return = 4.5,
                                      .problem = "no & room"},
                                     {.link = "./c/", .name = "c", .state = "unfinished"}},
                                    7, "runs");
  EXPECT_EQ(HtmlMistake(part), "");
  EXPECT_EQ(CountIn(part, "<tr><td"), 2u);
  EXPECT_THAT(part, HasSubstr("<a href=\"./a%20b/\">a b</a>"));
  EXPECT_THAT(part,
              AllOf(HasSubstr("&lt;env&gt;"), HasSubstr("2.00M"), HasSubstr("no &amp; room")));
  EXPECT_THAT(part, HasSubstr("and 7 more"));
  EXPECT_THAT(ListPart({}, 0, "runs"), HasSubstr("there is no run here yet"));
}

}  // namespace
}  // namespace starling::monitor
