// Pages from what an earlier report kept.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/tools/report/report_fixture.h"

namespace starling::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using KeptReportTest = ReportTest;

TEST_F(KeptReportTest, KeptNumbersAreRunsAgain) {
  WriteSeeds("0", 2);
  WriteSeeds("4", 2);
  EXPECT_EQ(Report({"runs", "--data", "kept.csv"}).status, 0);
  std::filesystem::remove_all(dir_ / "runs");
  EXPECT_THAT(Page({"kept.csv"}),
              AllOf(HasSubstr("4 runs in 2 groups"), HasSubstr("<h2>Learning</h2>")));
  WriteSeeds("8", 3);
  EXPECT_THAT(Page({"kept.csv", "runs"}), HasSubstr("7 runs in 3 groups"));
  EXPECT_EQ(Report({"kept.csv", "runs", "--data", "kept.csv"}).status, 0) << "it may grow";
  EXPECT_THAT(Page({"kept.csv"}), HasSubstr("7 runs in 3 groups"));
  EXPECT_THAT(Mistake({"absent.csv"}), HasSubstr("absent.csv cannot be read: No such file"));
  EXPECT_THAT(Mistake({"kept.csv", "--out", "kept.csv"}),
              HasSubstr("--out and RUN are both kept.csv: name two files"));
}

TEST_F(KeptReportTest, AKeptRunThatHasFinishedSinceIsOneRun) {
  WriteSeeds("4", 2);
  std::filesystem::remove(dir_ / "runs/b4-2/summary.json");
  EXPECT_EQ(Report({"runs", "--data", "kept.csv"}).status, 0);
  EXPECT_THAT(Page({"kept.csv"}), HasSubstr("1 unfinished"));
  WriteSeeds("4", 2);
  EXPECT_THAT(Page({"kept.csv", "runs"}),
              AllOf(Not(HasSubstr("1 unfinished")), HasSubstr("1 run is repeated")));
}

// A sweep goes on elsewhere: the directory here belongs to the part there.
TEST_F(KeptReportTest, APartOfAFileGoesOnWithTheDirectoryOfItsName) {
  WriteRun(dir_, "a/one", {.bound = "0"});
  WriteRun(dir_, "b/one", {.bound = "4"});
  EXPECT_EQ(Report({"a", "b", "--parts", "--data", "kept.csv"}).status, 0);
  std::filesystem::remove_all(dir_ / "a");
  WriteRun(dir_, "a/two", {.bound = "2"});
  WriteRun(dir_, "other/a/one", {.bound = "8"});
  EXPECT_THAT(Page({"kept.csv", "a", "other/a", "--parts"}),
              AllOf(HasSubstr("<h1 class=\"part\">a</h1>\n<p class=\"faint\">Starling: 2 runs"),
                    HasSubstr("<h1 class=\"part\">b</h1>\n<p class=\"faint\">Starling: 1 run in"),
                    HasSubstr("<h1 class=\"part\">a</h1>\n<p class=\"faint\">Starling: 1 run in")));
}

}  // namespace
}  // namespace starling::report
