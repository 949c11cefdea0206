// Grids over a small configuration, in a directory of their own.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "core/error.h"
#include "tests/support/temp_dir.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

class GridTest : public testing::Test {
 protected:
  GridTest() {
    dir_.Write("catch.toml",
               "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n");
  }
  Grid Read(const std::string& text) const { return ReadGrid(dir_.Write("mine.toml", text)); }
  // The refusal of the grid, without the test's directory.
  std::string Mistake(const std::string& text) const {
    try {
      Read(text);
    } catch (const UserError& error) {
      std::string said = error.what();
      const std::string dir = dir_.path().string() + "/";
      for (std::size_t at = 0; (at = said.find(dir)) != std::string::npos;)
        said.erase(at, dir.size());
      return said;
    }
    ADD_FAILURE() << "no mistake found in\n" << text;
    return "";
  }
  TempDir dir_;
};

}  // namespace starling::sweep
