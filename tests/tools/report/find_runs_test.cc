#include "tools/report/report.h"

#include <gmock/gmock.h>

#include "tests/support/error_of.h"
#include "tests/support/written_run.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FindRunsTest : public testing::Test {
 protected:
  // Relative to the test's directory; "-" before those that were not begun.
  std::vector<std::string> Find(const std::vector<std::string>& names) const {
    std::vector<std::filesystem::path> given;
    for (const std::string& name : names) given.push_back(dir_ / name);
    std::vector<std::string> found;
    for (const FoundRun& run : FindRuns(given)) {
      found.push_back((run.begun ? "" : "-") + run.dir.lexically_relative(dir_.path()).string());
    }
    return found;
  }
  TempDir dir_;
};

TEST_F(FindRunsTest, ARunIsItself) {
  WriteRun(dir_, "runs/a", {});
  EXPECT_THAT(Find({"runs/a"}), ElementsAre("runs/a"));
  dir_.Write("runs/torn/metrics.jsonl", "");  // whatever is left of one
  EXPECT_THAT(Find({"runs/torn"}), ElementsAre("runs/torn"));
}

TEST_F(FindRunsTest, AFolderIsItsRunsByNameAndEachIsFoundOnce) {
  WriteRun(dir_, "runs/b", {});
  WriteRun(dir_, "runs/a/seed-1", {});
  WriteRun(dir_, "runs/a/deeper/deepest", {});
  EXPECT_THAT(Find({"runs"}), ElementsAre("runs/a/seed-1", "runs/b"));
  EXPECT_THAT(Find({"runs/b", "runs", "runs/../runs/b"}), ElementsAre("runs/b", "runs/a/seed-1"));
}

TEST_F(FindRunsTest, ASweepIsInTheOrderOfItsGridWithWhatIsStillToCome) {
  for (const char* run : {"s/bound=16/seed-1", "s/bound=4/seed-1", "s/old/seed-1"}) {
    WriteRun(dir_, run, {});
  }
  dir_.Write("s/lock", "");
  dir_.Write("s/sweep.json", R"({"points": [
      {"runs": [{"dir": "bound=4/seed-1", "error": null},
                {"dir": "bound=4/seed-2", "error": null}]},
      {"runs": [{"dir": "bound=16/seed-1", "error": "the disk is full"}]}]})");
  EXPECT_THAT(Find({"s"}), ElementsAre("s/bound=4/seed-1", "-s/bound=4/seed-2", "s/bound=16/seed-1",
                                       "s/old/seed-1"));
  EXPECT_EQ(FindRuns({dir_ / "s"})[2].error, "the disk is full");
  dir_.Write("s/sweep.json", "{\"points\": 3");
  EXPECT_THAT(Find({"s"}), ElementsAre("s/bound=16/seed-1", "s/bound=4/seed-1", "s/old/seed-1"));
}

TEST_F(FindRunsTest, ASweepWithALogOfItsOwnIsStillASweep) {
  WriteRun(dir_, "s/bound=4/seed-1", {});
  WriteRun(dir_, "s/old/bound=4/seed-1", {});  // moved aside earlier
  dir_.Write("s/log", "");
  dir_.Write("s/sweep.json",
             R"({"points": [{"runs": [{"dir": "bound=4/seed-1", "error": null}]}]})");
  EXPECT_THAT(Find({"s"}), ElementsAre("s/bound=4/seed-1"));
}

// Two directories that cannot be resolved are still two.
TEST_F(FindRunsTest, WhatCannotBeResolvedIsThere) {
  std::filesystem::create_directory(dir_ / "s");
  std::filesystem::create_symlink("loop", dir_ / "s/loop");
  dir_.Write("s/sweep.json", R"({"points": [{"runs": [
      {"dir": "loop/seed-1", "error": null}, {"dir": "loop/seed-2", "error": null}]}]})");
  EXPECT_THAT(Find({"s"}), ElementsAre("-s/loop/seed-1", "-s/loop/seed-2"));
}

TEST_F(FindRunsTest, WhatIsNoRunIsNamed) {
  dir_.Write("file", "");
  std::filesystem::create_directory(dir_ / "empty");
  WriteRun(dir_, "good", {});
  const std::string said = ErrorOf([&] { Find({"good", "file", "empty", "absent"}); });
  EXPECT_THAT(said, HasSubstr("file: it is no directory; give the directory of a run"));
  EXPECT_THAT(said, HasSubstr("empty: there is no run in it"));
  EXPECT_THAT(said, HasSubstr("absent: there is no such directory"));
  EXPECT_THAT(said, testing::Not(HasSubstr("good")));
}

}  // namespace
}  // namespace starling::report
