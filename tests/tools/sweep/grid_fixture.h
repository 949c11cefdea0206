// Grids over a small configuration.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

// They are in a directory of their own.
class GridTest : public testing::Test {
 protected:
  GridTest() {
    dir_.Write("catch.toml",
               "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n");
  }
  Grid Read(const std::string& text) const { return ReadGrid(dir_.Write("mine.toml", text)); }
  // The refusal of the grid, without the test's directory.
  std::string Mistake(const std::string& text) const {
    std::string said = ErrorOf([&] { Read(text); });
    EXPECT_NE(said, "") << "no mistake found in\n" << text;
    const std::string dir = dir_.path().string() + "/";
    for (std::size_t at = 0; (at = said.find(dir)) != std::string::npos;)
      said.erase(at, dir.size());
    return said;
  }
  TempDir dir_;
};

}  // namespace starling::sweep
