// Whole pages, from directories written by hand.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/fleet_fixtures.h"
#include "tests/support/html.h"
#include "tests/support/written_run.h"

namespace starling::report {

class ReportTest : public testing::Test {
 protected:
  void WriteSeeds(const std::string& bound, int seeds) {
    for (int seed = 1; seed <= seeds; ++seed) {
      WriteRun(dir_, fmt::format("runs/b{}-{}", bound, seed),
               {.seed = seed, .bound = bound, .mean_return = 5.0 + seed});
    }
  }
  Finished Report(std::vector<std::string> words) {
    words.insert(words.begin(), {STARLING_PROGRAM, "report"});
    return RunProgram(dir_, words);
  }
  // Returns the page of a report on `words`, by default all of runs/. It must load no other file.
  std::string Page(const std::vector<std::string>& words = {"runs"}, int status = kExitDone) {
    const Finished report = Report(words);
    EXPECT_EQ(report.status, status) << report.err;
    const std::string page = dir_.Read("report.html");
    EXPECT_EQ(HtmlMistake(page), "");
    for (const char* reference : {"http:", "https:", "src=", "href=", "url(", "@import"}) {
      EXPECT_THAT(page, testing::Not(testing::HasSubstr(reference))) << "not by itself";
    }
    return page;
  }
  // The refusal of a report.
  std::string Mistake(const std::vector<std::string>& words) {
    const Finished report = Report(words);
    EXPECT_EQ(report.status, kExitUserError);
    return report.err;
  }
  TempDir dir_;
};

}  // namespace starling::report
