#include "fleet/progress.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace starling::fleet {
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

// Columns of a line of ASCII, one-column block characters and colours.
int Columns(const std::string& line) {
  int columns = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      i = line.find('m', i);
    } else if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

struct Golden {
  int width;
  std::string line;
};

TEST(ProgressTest, WhatAWidthShows) {
  for (const auto& [width, line] : std::vector<Golden>{
           {20, "[##--]  45% 81.2k/s"},
       }) {
    (void)width, (void)line;
  }
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

TEST(ProgressTest, WiderShowsNoLess) {
  std::size_t words = 0;
  for (int width = 20; width <= 200; ++width) {
    const std::string line = ProgressBar(Midway(), {width, false, false});
    std::size_t found = 0;
    for (const char* word :
         {"45%", "2.25M/5.00M", "81.2k/s", "0:34 left", "return 12.3", "stale 0.9/4", "2 actors"}) {
      found += line.find(word) != std::string::npos;
    }
    EXPECT_GE(found, words) << width << ": " << line;
    words = found;
  }
  EXPECT_EQ(words, 7u);
}

}  // namespace
}  // namespace starling::fleet
