// Whole pages, from directories written by hand.
#include "tools/report/report.h"
#include "core/locked_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "results/eval_results.h"
#include "results/run_dir.h"
#include "tests/tools/report/report_fixture.h"

namespace starling::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(ReportTest, GroupsAreNamedByWhatDiffers) {
  WriteSeeds("0", 3);
  WriteSeeds("4", 2);
  const std::string page = Page();
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>catch</h1>"), HasSubstr("5 runs in 2 groups"),
                          HasSubstr("bound = 0"), HasSubstr("bound = 4"),
                          HasSubstr("<td>3 of 3</td>"), HasSubstr("<td>2 of 2</td>"),
                          HasSubstr("<code>staleness.bound</code>"), HasSubstr("<polygon"),
                          HasSubstr("class=\"bar g1 d0\""), Not(HasSubstr("class=\"notice\""))));
  // 6, 7 and 8: of three runs none is left out, and draws of three times the worst are 1 of 27.
  EXPECT_THAT(page, HasSubstr("<td>7.00</td><td>6.00 to 8.00</td><td>7.00</td><td>7.00</td>"));
  EXPECT_THAT(page, HasSubstr("the actors: they compute 90 % of the time"));
}

TEST_F(ReportTest, TheSameRunsMakeTheSameBytes) {
  WriteSeeds("0", 3);
  WriteSeeds("4", 3);
  EXPECT_EQ(Page(), Page());
}

TEST_F(ReportTest, WhatIsNotFinishedIsShownAsSuch) {
  WriteSeeds("4", 2);
  WriteRun(dir_, "runs/half", {.seed = 3, .steps = 500, .summary = false});
  dir_.Write("runs/half/metrics.jsonl", MetricsOf({.seed = 3, .steps = 500}) + "{\"steps\":6");
  WriteRun(dir_, "runs/broke", {.seed = 4, .steps = 300, .error = "the <learner> gave up"});
  dir_.Write("runs/torn/config.toml", "[run");
  const std::string page = Page({"runs"}, kExitFailed);
  EXPECT_THAT(page, HasSubstr("Not all of these runs are finished: 1 damaged, 1 failed, 1 "
                              "unfinished."));
  EXPECT_THAT(page, HasSubstr("<td>2 of 4</td>"));
  EXPECT_THAT(page, HasSubstr("runs/half"));
  EXPECT_THAT(page, HasSubstr("is at 50 % of its steps"));
  EXPECT_THAT(page, HasSubstr("the &lt;learner&gt; gave up"));
  EXPECT_THAT(page, HasSubstr("runs/torn"));
  EXPECT_THAT(page, HasSubstr("config.toml is damaged"));
  EXPECT_THAT(page, HasSubstr("class=\"open g0 d0\""));
}

TEST_F(ReportTest, ADamagedSummaryIsNamedAndFails) {
  WriteSeeds("4", 2);
  dir_.Write("runs/b4-2/summary.json", "{\"steps\": ");
  const Finished report = Report({"runs"});
  EXPECT_EQ(report.status, kExitFailed);
  EXPECT_EQ(report.err, "starling: runs/b4-2: summary.json is damaged\n");
  EXPECT_THAT(dir_.Read("report.html"), HasSubstr("1 damaged"));
}

TEST_F(ReportTest, NoFileOfARunIsReplaced) {
  WriteSeeds("4", 1);
  dir_.Write("sweep/sweep.json", "{}");
  std::filesystem::create_symlink("runs/b4-1/summary.json", dir_ / "x.html");
  for (const char* name : {"runs/b4-1/summary.json", "runs/b4-1/../b4-1/log", "x.html",
                           "runs/b4-1/checkpoints/a.html", "sweep/sweep.json"}) {
    EXPECT_EQ(Mistake({"runs", "--out", name}),
              fmt::format("--out {} is a file of a run; choose another name\n", name));
  }
  EXPECT_THAT(Mistake({"runs", "--data", "runs/b4-1/final_eval.json"}),
              HasSubstr("--data runs/b4-1/final_eval.json is a file of a run"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "report.html"));
  // A page beside them is no danger.
  EXPECT_EQ(Report({"runs", "--out", "runs/b4-1/report.html"}).status, 0);
}

TEST_F(ReportTest, NotesAreText) {
  WriteSeeds("4", 1);
  dir_.Write("binary", std::string("a\0b", 3));
  dir_.Write("latin1", "caf\xe9");
  for (const char* name : {"binary", "latin1"}) {
    EXPECT_THAT(Mistake({"runs", "--notes", name}),
                HasSubstr(fmt::format("--notes {} is no UTF-8 text", name)));
  }
}

TEST_F(ReportTest, WithoutASingleFinishedRun) {
  dir_.Write("runs/torn/log", "");
  EXPECT_THAT(Page({"runs"}, kExitFailed),
              AllOf(HasSubstr("runs/torn"), Not(HasSubstr("<h2>Learning</h2>"))));
  WriteRun(dir_, "runs/half", {.steps = 500});
  EXPECT_THAT(Page({"runs"}, kExitFailed),
              AllOf(HasSubstr("<td>0 of 1</td>"), HasSubstr("class=\"open g0 d0\"")));
}

TEST_F(ReportTest, WhateverIsInAConfigurationIsText) {
  WriteRun(dir_, "runs/a", {});
  dir_.Write("runs/a/config.toml", "[run]\nsteps = 9\nseed = \"<b>\"\n[env]\nname = \"<i>\"\n");
  EXPECT_THAT(Page(), AllOf(HasSubstr("<td>&quot;&lt;b&gt;&quot;</td>"), Not(HasSubstr("<b>")),
                            Not(HasSubstr("<i>"))));
}

TEST_F(ReportTest, ARunThatWasNotEvaluatedIsSaidToBeSo) {
  WriteSeeds("4", 3);
  for (const char* run : {"runs/b4-1", "runs/b4-2"}) {
    results::WriteFinalEval(
        dir_ / run, {.checkpoint = "checkpoints/a", .played = {5}, .mean_return = 2, .std = 0});
  }
  dir_.Write("runs/sweep.json", R"({"points": [{"runs": [
      {"dir": "b4-1", "error": null}, {"dir": "b4-2", "error": null},
      {"dir": "b4-3", "error": "evaluation: was killed by SIGKILL"}]}]})");
  const std::string page = Page();
  EXPECT_THAT(page,
              AllOf(HasSubstr("1 of 3 finished runs has no final_eval.json (runs/b4-3)"),
                    HasSubstr("evaluation: was killed by SIGKILL"), HasSubstr("<td>3 of 3</td>")));
}

TEST_F(ReportTest, AReturnThatIsNotThereIsNotCounted) {
  WriteSeeds("4", 2);
  dir_.Write("runs/b4-2/summary.json", R"({"steps":1000,"seconds":1,"final_checkpoint":null})");
  EXPECT_THAT(Page(), HasSubstr("<td>2 of 2 (1 with a return)</td>"));
}

TEST_F(ReportTest, GroupsThatLookAlikeAreSaidToDoSo) {
  for (int i = 0; i < 24; ++i) WriteSeeds(std::to_string(i), 1);
  EXPECT_THAT(Page(), Not(HasSubstr("look alike")));
  WriteSeeds("24", 1);
  EXPECT_THAT(Page(), HasSubstr("There are 25 groups and only 24 styles of lines"));
}

TEST_F(ReportTest, EvaluationsAreDrawnWhereThereAreAny) {
  WriteSeeds("4", 2);
  EXPECT_THAT(Page(), Not(HasSubstr("Evaluation while training")));
  dir_.Write("runs/b4-1/eval.jsonl",
             "{\"steps\":500,\"term\":1,\"version\":3,\"episodes\":5,\"mean_return\":1.5,"
             "\"std\":0.1,\"seconds\":0.2}\n");
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("Evaluation while training"));
  EXPECT_THAT(page, HasSubstr("the mean return of its last 100 training episodes"))
      << "one of the two has no evaluation";
}

TEST_F(ReportTest, WhereItGoes) {
  WriteSeeds("4", 1);
  const Finished report = Report({"runs/b4-1", "--out", "there.html"});
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("there.html: 1 of 1 runs finished, "));
  EXPECT_THAT(dir_.Read("there.html"), HasSubstr("<!doctype html>"));
  EXPECT_THAT(Mistake({"runs", "--out", "absent/there.html"}),
              HasSubstr("absent/there.html cannot be written"));
  EXPECT_THAT(Mistake({"runs", "--out", "runs"}),
              HasSubstr("runs cannot be written: Is a directory; choose another --out"));
}

TEST_F(ReportTest, LinksAndPipesStayWhatTheyAre) {
  WriteSeeds("4", 1);
  dir_.Write("real.html", "");
  std::filesystem::create_symlink("real.html", dir_ / "link.html");
  EXPECT_EQ(Report({"runs", "--out", "link.html"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link.html"));
  EXPECT_THAT(dir_.Read("real.html"), HasSubstr("<!doctype html>"));

  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  const int pipe = ::open((dir_ / "pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(Report({"runs", "--out", "pipe"}).status, 0);
  std::string begin(15, ' ');
  EXPECT_EQ(::read(pipe, begin.data(), begin.size()), 15);
  ::close(pipe);
  EXPECT_EQ(begin, "<!doctype html>");
  EXPECT_TRUE(std::filesystem::is_fifo(dir_ / "pipe"));
}

TEST_F(ReportTest, OfASweepThatIsAtWork) {
  WriteRun(dir_, "s/base/seed-1", {.steps = 400, .summary = false});
  dir_.Write("s/sweep.json", R"({"points": [{"runs": [
      {"dir": "base/seed-1", "error": null, "state": "running"}]}]})");
  std::optional<LockedFile> lock(dir_ / "s/lock");
  EXPECT_THAT(Page({"s"}),
              AllOf(HasSubstr("finished: 1 running."), HasSubstr("is at 40 % of its steps")));
  lock.reset();  // killed: its sweep.json is old
  EXPECT_THAT(Page({"s"}), HasSubstr("finished: 1 unfinished."));
}

// A key that a sweep sets for each bound names no group.
TEST_F(ReportTest, GroupsAreNamedByWhatTheirSweepVaries) {
  std::string points;
  for (const char* bound : {"0", "4"}) {
    const std::string dir = fmt::format("b{}", bound);
    WriteRun(dir_, "s/" + dir, {.bound = bound});
    const std::string config = dir_.Read("s/" + dir + "/config.toml");
    dir_.Write("s/" + dir + "/config.toml", config + fmt::format("\n[extra]\nearly = {}\n", bound));
    points += fmt::format(R"({}{{"settings": {{"staleness.bound": "{}"}}, "runs": [
      {{"dir": "{}", "error": null, "state": "finished"}}]}})",
                          points.empty() ? "" : ", ", bound, dir);
  }
  EXPECT_THAT(Page({"s"}), HasSubstr("early = 4")) << "the first in the alphabet";
  dir_.Write("s/sweep.json", "{\"points\": [" + points + "]}");
  EXPECT_THAT(Page({"s"}), AllOf(HasSubstr("bound = 4"), Not(HasSubstr("early = 4"))));
}

TEST_F(ReportTest, OfASweepWithWhatIsStillToCome) {
  WriteRun(dir_, "s/bound=4/seed-1", {});
  dir_.Write("s/sweep.json", R"({"points": [{"runs": [
      {"dir": "bound=4/seed-1", "error": null}, {"dir": "bound=4/seed-2", "error": null},
      {"dir": "bound=4/seed-3", "error": "there is no gymnasium"}]}]})");
  EXPECT_THAT(Page({"s"}), AllOf(HasSubstr("1 failed, 1 not begun"), HasSubstr("s/bound=4/seed-2"),
                                 HasSubstr("there is no gymnasium")));
}

// Returns of 20 and of 300 on one axis would hide the learning of the first.
TEST_F(ReportTest, EachEnvironmentHasFiguresOfItsOwn) {
  WriteSeeds("0", 1);
  EXPECT_THAT(Page(), HasSubstr("<figcaption>return against steps</figcaption>"));
  WriteRun(dir_, "runs/other", {.seed = 1, .env = "minatar/breakout"});
  const std::string page = Page();
  EXPECT_THAT(page, AllOf(HasSubstr("<figcaption>catch: return against steps</figcaption>"),
                          HasSubstr("<figcaption>minatar/breakout: return against steps"),
                          HasSubstr("<figcaption>minatar/breakout: return against time"),
                          Not(HasSubstr("<figcaption>return against"))));
}

TEST_F(ReportTest, TimeToAScore) {
  WriteSeeds("0", 3);  // they end at 6, 7 and 8, in ten seconds
  // The second run reaches 6.5 after 9.29 s, the third after 8.13 s, the first never: the median is
  // the later of the two.
  EXPECT_THAT(Page({"runs", "--score", "6.5"}),
              AllOf(HasSubstr("<td>6.5</td><td>2 of 3</td><td>929</td><td>9.29</td>"),
                    HasSubstr("never, 9.29, 8.12"), HasSubstr("A run reached a score when")));
  EXPECT_THAT(Mistake({"runs", "--score", "much"}), HasSubstr("--score much: no number"));
}

// Three bounds in two environments are six groups, four bounds ten.
TEST_F(ReportTest, TwoKeysMakeHeatMapsAndManyGroupsSmallFigures) {
  const auto write = [&](const std::string& bound) {
    for (const char* env : {"catch", "minatar/breakout"}) {
      WriteRun(dir_, fmt::format("runs/{}-{}", std::string(env).substr(0, 3), bound),
               {.bound = bound, .env = env});
    }
  };
  for (const char* bound : {"\"unbounded\"", "0", "4"}) write(bound);
  const std::string few = Page();
  EXPECT_THAT(few, AllOf(HasSubstr("<h2>env.name by staleness.bound</h2>"),
                         HasSubstr("<h2>All environments together</h2>"),
                         HasSubstr("<p>Over all environments, the interquartile mean"),
                         HasSubstr("final return, interquartile mean"),
                         Not(HasSubstr("class=\"multiples\""))));
  for (const char* bound : {"8", "16"}) write(bound);
  const std::string many = Page();
  EXPECT_THAT(many, AllOf(HasSubstr("class=\"multiples\""), HasSubstr("class=\"tiny\""),
                          HasSubstr("<figcaption>env.name = catch</figcaption>"),
                          HasSubstr("</svg>bound = 16</li>")));
  const std::string at0 =
      "<th scope=\"col\">0</th><th scope=\"col\">4</th><th scope=\"col\">8</th>"
      "<th scope=\"col\">16</th><th scope=\"col\">unbounded</th>";
  EXPECT_THAT(many, HasSubstr(at0));
}

TEST_F(ReportTest, PartsHaveGroupsOfTheirOwn) {
  WriteRun(dir_, "a/one", {.bound = "0"});
  WriteRun(dir_, "a/two", {.bound = "4"});
  WriteRun(dir_, "b/one", {.bound = "8", .env = "minatar/breakout"});
  EXPECT_THAT(
      Page({"a", "b/", "--parts"}),
      AllOf(HasSubstr("<h1>catch, minatar/breakout</h1>"), HasSubstr("<h1 class=\"part\">a</h1>"),
            HasSubstr("2 runs in 2 groups"), HasSubstr("<h1 class=\"part\">b</h1>"),
            HasSubstr("1 run in 1 group"), Not(HasSubstr("Over all environments"))));
}

TEST_F(ReportTest, TitleAndNotesAreText) {
  WriteSeeds("0", 1);
  dir_.Write("notes.txt", "# What it shows\n\nBounds < 4 & more.\n");
  EXPECT_THAT(
      Page({"runs", "--title", "A <study>", "--notes", "notes.txt"}),
      AllOf(HasSubstr("<title>A &lt;study&gt;</title>"), HasSubstr("<h1>A &lt;study&gt;</h1>"),
            HasSubstr("<h2>What it shows</h2>\n<p>Bounds &lt; 4 &amp; more.</p>")));
  EXPECT_THAT(Mistake({"runs", "--notes", "absent.txt"}),
              HasSubstr("--notes absent.txt cannot be read: No such file"));
}

TEST_F(ReportTest, TheNumbersCanBeKept) {
  WriteSeeds("4", 2);
  EXPECT_EQ(Report({"runs", "--data", "x.csv"}).status, 0);
  EXPECT_THAT(dir_.Read("x.csv"), HasSubstr("runs/b4-2,finished,true,false,,catch,2,"));
  EXPECT_EQ(Report({"runs", "--data", "x.json"}).status, 0);
  EXPECT_THAT(dir_.Read("x.json"), HasSubstr("\"run\":\"runs/b4-2\""));
  dir_.Write("notes.txt", "mine");
  EXPECT_THAT(Mistake({"runs", "--out", "x.csv", "--data", "./x.csv"}),
              HasSubstr("--out and --data are both x.csv: name two files"));
  Mistake({"runs", "--out", "notes.txt", "--notes", "notes.txt"});
  EXPECT_EQ(dir_.Read("notes.txt"), "mine");
  EXPECT_THAT(Mistake({"runs", "--data", "x.txt"}),
              HasSubstr("--data x.txt: write x.csv or x.json"));
}

TEST_F(ReportTest, PartsAndTheEndHaveNotes) {
  WriteRun(dir_, "runs/first", {.bound = "0"});
  WriteRun(dir_, "runs/second", {.bound = "4"});
  dir_.Write("notes.txt", "claim\n--- second\nolder\n---\nmethod\n");
  const std::string page = Page({"runs/first", "runs/second", "--parts", "--notes", "notes.txt"});
  std::size_t at = 0;
  for (const char* next :
       {"<p>claim</p>", ">first</h1>", ">second</h1>", "<p>older</p>",
        "<p class=\"faint\">Starling", "<p>method</p>", "<h2>How to read this</h2>"}) {
    const std::size_t found = page.find(next, at);
    ASSERT_NE(found, std::string::npos) << next;
    at = found;
  }
  dir_.Write("notes.txt", "--- secnd\n");
  EXPECT_THAT(Mistake({"runs/first", "runs/second", "--parts", "--notes", "notes.txt"}),
              HasSubstr("\"--- secnd\": no such part; there are first, second; did you mean"));
}

TEST_F(ReportTest, VirtualTimeIsSaidToBeSo) {
  WriteSeeds("4", 2);
  dir_.Write("runs/b4-2/simulated", "");
  const std::string page = Page();
  EXPECT_THAT(page, AllOf(HasSubstr("1 of 2 runs is simulated: seconds"),
                          HasSubstr("simulated = true"), HasSubstr("finished, virtual time"),
                          HasSubstr("2 runs in 2 groups"), HasSubstr("virtual where simulated")));
}

TEST_F(ReportTest, ManyRunsAreFolded) {
  WriteSeeds("4", 20);
  EXPECT_THAT(Page(), Not(HasSubstr("<details>")));
  WriteSeeds("4", 21);
  EXPECT_THAT(Page(), HasSubstr("<details><summary>all 21 runs</summary>"));
}

TEST_F(ReportTest, OfVeryManyRunsOnlyTheOthersAreListed) {
  WriteSeeds("4", 201);
  EXPECT_THAT(Page(), AllOf(HasSubstr("201 of 201 runs are finished, without a remark"),
                            Not(HasSubstr("<code>runs/b4-7</code>"))));
  std::filesystem::remove(dir_.path() / "runs/b4-7/summary.json");
  EXPECT_THAT(Page(),
              AllOf(HasSubstr("200 of 201 runs are finished, without a remark"),
                    HasSubstr("<code>runs/b4-7</code>"), Not(HasSubstr("<code>runs/b4-8</code>"))));
}

}  // namespace
}  // namespace starling::report
