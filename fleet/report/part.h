// What a page is about: one set of runs, or several that are looked at apart.
#pragma once

#include <string>
#include <vector>

#include "fleet/report/loaded_run.h"

namespace starling::fleet {

struct Part {
  std::string name;  // "" if it is the only one
  std::vector<LoadedRun> runs;
};

}  // namespace starling::fleet
