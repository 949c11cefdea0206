// The updates of a run, and their page.
#include "tools/replay/timeline.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "learner/storage/journal_reader.h"
#include "tests/support/count_in.h"
#include "tests/support/error_of.h"
#include "tests/support/html.h"
#include "tests/tools/replay/journalled_run.h"
#include "tools/replay/replay.h"
#include "tools/replay/timeline_page.h"

namespace starling::replay {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    run_.BeginTerm();
    run_.Join(0), run_.Join(1);
    run_.Train(3);
    run_.Arrive(1, wire::Outcome::kNone, 0);
    run_.Update();
    run_.Flush();
  }
  Timeline Of(VersionRange range, std::size_t max_listed = kMaxListed) const {
    return {run_.dir.path(), range, max_listed};
  }
  // The numbers in a page, without its script.
  static json DataIn(const std::string& page) {
    const std::string begin = "id=\"data\">";
    const std::size_t at = page.find(begin) + begin.size();
    return json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  static std::string WithoutScripts(const std::string& page) {
    return page.substr(0, page.find("<script")) + "</body>\n</html>\n";
  }

  JournalledRun run_;
};

TEST_F(TimelineTest, HoldsTheUpdatesOfARange) {
  const Timeline timeline = Of({1, 4});
  ASSERT_EQ(timeline.updates().size(), 3u);
  EXPECT_EQ(timeline.updates()[0].version(), 2u);
  EXPECT_EQ(timeline.updates()[0].details.gradients.size(), 2u);
  EXPECT_EQ(timeline.updates()[2].details.gradients.size(), 1u);
  EXPECT_FALSE(timeline.updates()[0].replayed());
}

TEST_F(TimelineTest, AReplayAddsLossesAndReturns) {
  Timeline timeline = Of({1, 4});
  timeline.Replayed(1, {});  // not in it
  timeline.Replayed(4,
                    {{.policy_loss = 0.5, .value_loss = 2, .entropy = 1, .episodes = {{7, 10}}}});
  EXPECT_FALSE(timeline.updates()[1].replayed());
  const TimelineUpdate& last = timeline.updates()[2];
  ASSERT_EQ(last.losses.size(), 1u);
  EXPECT_EQ(last.losses[0].value, 2);
  EXPECT_THAT(last.returns, ElementsAre(7));
}

TEST_F(TimelineTest, TooManyAreRefusedWithAPartThatIsNot) {
  EXPECT_EQ(Of({0, 4}, 7).updates().size(), 4u);
  EXPECT_EQ(
      ErrorOf([&] {
        Of({0, 4}, 4);
      }),
      "these updates have 7 gradients, and a page lists 4: ask for a part, such as --after 2");
  EXPECT_EQ(Of({2, 4}, 4).updates().size(), 2u);
}

TEST_F(TimelineTest, ThePageHoldsEveryNumberAndAsksForNothing) {
  Timeline timeline = Of({0, 4});
  timeline.Replayed(4,
                    {{.policy_loss = NAN, .value_loss = 2, .entropy = 1, .episodes = {{7, 10}}}});
  const std::string page = TimelinePage(timeline, "<b>\"x\"", "a < b");
  EXPECT_EQ(HtmlMistake(WithoutScripts(page)), "");
  EXPECT_THAT(page, HasSubstr("<h1>&lt;b&gt;&quot;x&quot;: 4 updates from version 1 to 4</h1>"));
  EXPECT_THAT(page, HasSubstr("Losses and returns are left out: a &lt; b"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  const json data = DataIn(page);
  ASSERT_EQ(data.size(), 4u);
  // Version, steps, rate, scale, gradients, return.
  EXPECT_EQ(data[0][0], 1);
  EXPECT_EQ(data[0][1], 20);
  ASSERT_EQ(data[0][4].size(), 2u);
  EXPECT_EQ(data[0][4][1], (json::array({1, "1.0", 2, 0, 10, 0.5, 0.0})));
  EXPECT_EQ(data[0][5], nullptr);
  EXPECT_EQ(data[3][4][0], (json::array({1, "1.0", 7, 3, 10, 1.0, 0.0, nullptr, 2.0, 1.0})));
  EXPECT_EQ(data[3][5], 7.0);
  // A drawing for actors, staleness, norm, return, value loss and entropy; a NaN has none.
  EXPECT_EQ(CountIn(page, "<svg"), 6u);
}

TEST_F(TimelineTest, ManyActorsShareRows) {
  JournalledRun run;
  run.BeginTerm();
  learner::UpdateRecord update{.version = 1, .steps = 1};
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    run.journal->Append(learner::ArrivalRecord{.slot = slot, .sequence = 1, .samples = 1});
    update.items.push_back({slot, 0, 1});
  }
  run.journal->Append(update);
  run.Flush();
  const std::string page = TimelinePage(Timeline(run.dir.path(), {0, 1}), "x", "");
  EXPECT_THAT(page, HasSubstr(">0–3</text>"));
  EXPECT_THAT(page, HasSubstr(">96–99</text>"));
}

TEST_F(TimelineTest, OfMissingRecordsThereIsNone) {
  run_.journal->Append(learner::GapRecord{});
  run_.BeginTerm(9, run_.journal->position());
  run_.Join(0), run_.Join(1), run_.Train(1);
  run_.Flush();
  EXPECT_THAT(ErrorOf([&] {
                Of({5, 8});
              }),
              HasSubstr("holds no version after 5 up to 8: records are missing there"));
  const Timeline timeline = Of({3, 10});
  ASSERT_EQ(timeline.updates().size(), 2u);
  EXPECT_EQ(timeline.updates()[1].version(), 10u);
}

// ---- the whole command

class PageTest : public TimelineTest {
 protected:
  int Page(std::optional<std::uint64_t> after = {}, std::optional<std::uint64_t> until = {}) {
    ReplayOptions options;
    options.run_dir = run_.dir.path();
    options.page = true;
    options.after = after;
    options.until = until;
    return RunCaptured(options, out_, said_);
  }
  json Data() const { return DataIn(ReadFile(run_.dir / "updates.html")); }

  std::string out_, said_;
};

TEST_F(PageTest, IsOfTheWholeRunWithItsLosses) {
  EXPECT_EQ(Page(), kExitDone) << said_;
  EXPECT_THAT(out_, HasSubstr("updates.html: 4 updates, "));
  const json data = Data();
  ASSERT_EQ(data.size(), 4u);
  for (const json& update : data) {
    for (const json& gradient : update[4]) EXPECT_EQ(gradient.size(), 10u);
  }
}

TEST_F(PageTest, IsOfAPart) {
  EXPECT_EQ(Page(1, 3), kExitDone) << said_;
  const json data = Data();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0][0], 2);
  EXPECT_EQ(data[0][4][0].size(), 10u);
  EXPECT_THAT(ErrorOf([&] { Page(3, 3); }), HasSubstr("--after 3 and --until 3 leave no version"));
  EXPECT_THAT(ErrorOf([&] { Page({}, 8); }), HasSubstr("the journal holds no version 8"));
}

TEST_F(PageTest, OfARunThatCannotBeReplayedLacksTheLosses) {
  run_.dir.Write("config.toml", ToToml(ParseConfig(ToToml(run_.config), "config.toml",
                                                   {"learner.apply=hogwild"})));
  EXPECT_EQ(Page(), kExitDone);
  EXPECT_THAT(out_, HasSubstr("losses and returns are left out: "));
  EXPECT_THAT(out_, HasSubstr("its weights were applied by learner.apply = \"hogwild\""));
  EXPECT_THAT(ReadFile(run_.dir / "updates.html"), HasSubstr("Losses and returns are left out"));
  EXPECT_EQ(Data()[0][4][0].size(), 7u);
}

// The journal of versions 1 and 2 is gone; the oldest cut is at version 3.
TEST(PageOfAPrunedRun, HasLossesFromTheOldestCutOn) {
  JournalledRun run;
  run.BeginTerm(0, {}, /*segment_bytes=*/100);
  run.Join(0), run.Join(1);
  std::vector<learner::JournalPosition> ends = {{}};
  for (int i = 0; i < 5; ++i) ends.push_back(run.Train(1)), run.Flush();  // a segment each
  learner::WriteCheckpoint(run.checkpoints(), run.CheckpointAt(3, ends[3]));
  for (const auto& segment : learner::ListSegments(run.dir / "journal")) {
    if (segment.segment < ends[2].segment) std::filesystem::remove(segment.path);
  }
  ReplayOptions options;
  options.run_dir = run.dir.path();
  options.page = true;
  options.after = 1;
  std::string out, said;
  EXPECT_EQ(RunCaptured(options, out, said), kExitDone) << said;
  EXPECT_THAT(out, HasSubstr("up to version 3, as the journal before the first of them is gone"));
  const std::string page = ReadFile(run.dir / "updates.html");
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  const json data = json::parse(page.substr(at, page.find("</script>", at) - at));
  ASSERT_EQ(data.size(), 4u);
  EXPECT_EQ(data[1][4][0].size(), 7u);
  EXPECT_EQ(data[2][4][0].size(), 10u);
}

TEST_F(PageTest, WhereTheWeightsDifferLossesEndAndTheStatusSaysSo) {
  run_.journal->Append(learner::HashRecord{4, 99});
  run_.Flush();
  EXPECT_EQ(Page(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr("the weights of version 4 are not those that the run had"));
  EXPECT_EQ(Data()[2][4][0].size(), 10u);
  EXPECT_EQ(Data()[3][4][0].size(), 7u);
}

}  // namespace
}  // namespace starling::replay
