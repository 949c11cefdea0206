#include "monitor/console.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/text.h"
#include "tests/monitor/columns.h"

namespace starling::monitor {
namespace {

using testing::HasSubstr;
using testing::Not;

Progress Midway() {
  Progress progress;
  progress.phase = Progress::Phase::kRunning;
  progress.steps = 2'250'000;
  progress.total = 5'000'000;
  progress.steps_per_second = 81'234;
  progress.mean_return = 12.34;
  progress.staleness_mean = 0.94;
  progress.staleness_max = 4;
  progress.actors_alive = 2;
  progress.actors = 2;
  return progress;
}

TEST(ProgressTest, WhatEachWidthShows) {
  for (const auto& [width, line] : std::vector<std::pair<int, std::string>>{
           {0, ""},
           {5, " 45%"},
           {20, "[#####-------]  45%"},
           {40, "[#####-------]  45% 81.2k/s return 12.3"},
           {60, "[####------]  45% 2.25M/5.00M 81.2k/s 0:34 left return 12.3"},
           {80, "[####-----]  45% 2.25M/5.00M 81.2k/s 0:34 left return 12.3 stale 0.9/4 2 actors"},
           {90,
            "[#####-------]   45%  2.25M/5.00M  81.2k/s  0:34 left  return 12.3  stale 0.9/4  "
            "2 actors"},
           {200,
            "[#################---------------------]   45%  2.25M/5.00M  81.2k/s  0:34 left  "
            "return 12.3  stale 0.9/4  2 actors"},
       }) {
    EXPECT_EQ(ProgressBar(Midway(), {width, false, false}), line) << width;
  }
}

TEST(ProgressTest, BlocksAndColour) {
  EXPECT_EQ(ProgressBar(Midway(), {20, true, false}),
            "\u2588\u2588\u2588\u2588\u2588\u2588\u2591\u2591\u2591\u2591\u2591\u2591\u2591\u2591"
            "  45%");
  EXPECT_EQ(ProgressBar(Midway(), {20, false, true}), "\033[32m[#####\033[0m-------]  45%");
}

TEST(ProgressTest, TheEndsOfTheBar) {
  Progress progress = Midway();
  progress.steps = 0;
  EXPECT_EQ(ProgressBar(progress, {20, false, false}), "[------------]   0%");
  progress.steps = progress.total - 1;
  EXPECT_THAT(ProgressBar(progress, {20, false, false}), "[###########-]  99%");
  progress.steps = progress.total + 96;  // the last update may overshoot
  EXPECT_EQ(ProgressBar(progress, {20, false, false}), "[############] 100%");
}

TEST(ProgressTest, WhatIsNotKnownIsLeftOut) {
  Progress progress = Midway();
  progress.steps_per_second = 0;
  progress.mean_return.reset();
  progress.actors_alive = 1;
  const std::string line = ProgressBar(progress, {200, false, false});
  EXPECT_THAT(line, Not(HasSubstr("left")));
  EXPECT_THAT(line, Not(HasSubstr("/s")));
  EXPECT_THAT(line, Not(HasSubstr("return")));
  EXPECT_TRUE(line.ends_with("  1 actor")) << line;
  EXPECT_EQ(ProgressLine(progress),
            "2.25M of 5.00M steps (45%), staleness mean 0.9 max 4, 1 of 2 actors");
}

TEST(ProgressTest, PlainLine) {
  EXPECT_EQ(ProgressLine(Midway()),
            "2.25M of 5.00M steps (45%), 81.2k steps/s, 0:34 left, return 12.3, staleness mean 0.9 "
            "max 4, 2 of 2 actors");
}

TEST(ProgressTest, TheReturnThatIsWanted) {
  learner::RunStatus status;
  status.phase = "running";
  status.steps = 50;
  status.mean_return = 12.34;
  const Progress progress = MakeProgress(status, {.steps = 100, .until_return = 40}, 0, 2);
  EXPECT_THAT(ProgressLine(progress), HasSubstr("(50%), return 12.3 of 40, staleness"));
  EXPECT_THAT(ProgressBar(progress, {80, false, false}), HasSubstr("return 12.3 of 40"));
}

TEST(ProgressTest, Waiting) {
  Progress progress;
  EXPECT_EQ(ProgressLine(progress), "starting");
  learner::RunStatus status;
  status.actors_alive = 1;
  progress = MakeProgress(status, {100}, 0, 2);
  EXPECT_EQ(ProgressLine(progress), "waiting for the first actors (1 of 2 alive)");
  EXPECT_EQ(ProgressBar(progress, {80, true, true}), "waiting for the first actors (1 of 2 alive)");
  EXPECT_EQ(ProgressBar(progress, {20, true, true}), "waiting for the fir");
  status.saving = {.written = 312'000'000, .size = 1'200'000'000};
  progress = MakeProgress(status, {100}, 7, 2);
  EXPECT_EQ(ProgressLine(progress), "writing the last checkpoint: 312MB of 1.20GB are on the disk");
  status.saving->waited = 14;
  EXPECT_EQ(ProgressLine(MakeProgress(status, {100}, 7, 2)),
            "no room for the last checkpoint: waited 14 s for it");
  progress.phase = Progress::Phase::kRedoing;
  progress.redo = {.done = 120, .updates = 3000};
  EXPECT_EQ(ProgressLine(progress),
            "redoing what came after the last checkpoint: 120 of 3,000 updates");
  progress.phase = Progress::Phase::kSilent;
  EXPECT_EQ(ProgressBar(progress, {80, true, true}), "the learner does not report, 0 steps/s");
}

TEST(ProgressTest, CountsHaveThreeDigits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},          {999, "999"},     {1000, "1.00k"},   {9994, "9.99k"},    {9996, "10.0k"},
      {81'234, "81.2k"}, {99'960, "100k"}, {999'400, "999k"}, {999'600, "1.00M"}, {5e6, "5.00M"},
      {2.5e9, "2.50G"},  {7e12, "7.00T"},  {7e15, "7000T"}};
  for (const auto& [count, text] : cases) {
    EXPECT_EQ(HumanCount(count), text);
  }
}

TEST(ProgressTest, TimesAreShort) {
  const std::pair<double, const char*> cases[] = {{-1, "0:00"},
                                                  {0, "0:00"},
                                                  {7.4, "0:07"},
                                                  {59.6, "1:00"},
                                                  {754, "12:34"},
                                                  {3723, "1:02:03"},
                                                  {3 * 86'400 + 4 * 3'600 + 300, "3d 04:05"},
                                                  {1e300, "999d 00:00"}};
  for (const auto& [seconds, text] : cases) {
    EXPECT_EQ(HumanTime(seconds), text);
  }
}

TEST(RateMeterTest, SlopeOverTheWindow) {
  RateMeter meter(1000);
  EXPECT_EQ(meter.PerSecond(), 0);
  meter.Add(0, 0);
  EXPECT_EQ(meter.PerSecond(), 0);
  meter.Add(500, 100);
  EXPECT_EQ(meter.PerSecond(), 200);  // 100 in half a second
  meter.Add(1000, 400);
  EXPECT_EQ(meter.PerSecond(), 400);  // from 0 at 0 to 400 at 1000
  meter.Add(1500, 1100);
  EXPECT_EQ(meter.PerSecond(), 1000);  // from 100 at 500 to 1100 at 1500
}

TEST(RateMeterTest, GoingBackToACheckpointStartsItAnew) {
  RateMeter meter(1000);
  meter.Add(0, 1000);
  meter.Add(100, 500);
  EXPECT_EQ(meter.PerSecond(), 0);
  meter.Add(200, 600);
  EXPECT_EQ(meter.PerSecond(), 1000);
}

TEST(ProgressTest, NeverWiderThanTheTerminal) {
  for (int width = 0; width <= 200; ++width) {
    for (const bool utf8 : {false, true}) {
      for (const bool color : {false, true}) {
        const std::string line = ProgressBar(Midway(), {width, utf8, color});
        EXPECT_LE(Columns(line), std::max(0, width - 1)) << width << ": " << line;
      }
    }
  }
}

}  // namespace
}  // namespace starling::monitor
