#include "monitor/fleet_status.h"

#include <gtest/gtest.h>

namespace starling::monitor {
namespace {

TEST(FleetStatusTest, ReadsBackWhatItWrote) {
  const FleetStatus some{.learner_alive = true,
                         .learner_silent = true,
                         .over = true,
                         .redo = RedoStatus{3, 40},
                         .actors = {{true, true, 0}, {false, false, 7}}};
  EXPECT_EQ(ParseFleetStatus(ToText(some)), some);
  EXPECT_EQ(ParseFleetStatus(ToText({})), FleetStatus{});
}

TEST(FleetStatusTest, WhatIsTornIsNone) {
  const std::string text = ToText({.redo = RedoStatus{3, 40}, .actors = {{true, true, 1}}});
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ParseFleetStatus(text.substr(0, size))) << size;
  }
  for (const char* bad : {"[]", "3", "{\"learner_alive\":1,\"learner_silent\":0,\"over\":0}",
                          "{\"learner_alive\":true,\"learner_silent\":true,\"over\":true,"
                          "\"actors\":[[1]]}"}) {
    EXPECT_FALSE(ParseFleetStatus(bad)) << bad;
  }
}

}  // namespace
}  // namespace starling::monitor
