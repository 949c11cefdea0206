// Runs in a directory, to be watched.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/clock.h"
#include "tests/support/temp_dir.h"
#include "tests/support/written_run.h"

namespace starling::watch {

class WatchTest : public TempDirTest {
 protected:
  WatchTest() { clock_.AdvanceMs(1'000'000); }
  void Write(const std::string& name, const WrittenRun& run = {}) {
    WriteRun(dir_, name, run);
    dir_.Write(name + "/config.toml",
               ConfigOf(run) + fmt::format("[wire]\nruntime_dir = \"{}\"\n", dir_.path().string()));
  }

  FakeClock clock_;
};

}  // namespace starling::watch
