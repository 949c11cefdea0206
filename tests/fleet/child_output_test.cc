#include "fleet/child_output.h"

#include <gmock/gmock.h>

#include <initializer_list>

namespace starling::fleet {
namespace {

using testing::ElementsAre;

std::string ReasonOf(std::initializer_list<std::string> lines) {
  EndReason reason;
  for (const std::string& line : lines) reason.Add(line);
  return reason.text();
}

TEST(EndReasonTest, TheLastErrorLine) {
  EXPECT_EQ(ReasonOf({"12:00:00.000 error learner: first", "12:00:01.000 error learner: disk: full",
                      "12:00:02.000 warn  learner: slow", "12:00:03.000 info  learner: saved"}),
            "disk: full");
}

TEST(EndReasonTest, LaterLinesThatAreNoLogLines) {
  EXPECT_EQ(ReasonOf({"12:00:00.000 error actor 3: disk full", "a.cc:7: CHECK(x) failed"}),
            "a.cc:7: CHECK(x) failed");
  EXPECT_EQ(ReasonOf({"stray", "12:00:00.000 info  actor 3: joined", "1", "2", "", "3", "4"}),
            "2; 3; 4");
  EXPECT_EQ(ReasonOf({"12:00:00.000 info  actor 3: joined"}), "");
}

TEST(EndReasonTest, HasAtMostAThousandBytes) {
  EXPECT_EQ(ReasonOf({std::string(5000, 'x')}).size(), 1000u);
}

TEST(LineSplitterTest, LinesComeWholeHoweverTheyArrive) {
  std::vector<std::string> lines;
  LineSplitter splitter(100, [&](std::string_view line) { lines.emplace_back(line); });
  for (const char* bytes : {"on", "e\ntwo\n", "", "\nth", "ree"}) splitter.Add(bytes);
  EXPECT_THAT(lines, ElementsAre("one", "two", ""));
  splitter.End();
  splitter.End();
  EXPECT_THAT(lines, ElementsAre("one", "two", "", "three"));
}

TEST(LineSplitterTest, LongLinesComeInPieces) {
  std::vector<std::string> lines;
  LineSplitter splitter(4, [&](std::string_view line) { lines.emplace_back(line); });
  splitter.Add("abcdefghij\nabcd\nx\n");
  EXPECT_THAT(lines, ElementsAre("abcd", "efgh", "ij", "abcd", "x"));
}

}  // namespace
}  // namespace starling::fleet
