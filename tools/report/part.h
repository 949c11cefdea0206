// What a page is about: one set of runs, or several that are looked at apart.
#pragma once

#include <string>
#include <vector>

#include "results/run_record.h"

namespace starling::report {

struct Part {
  std::string name;  // "" if it is the only one
  std::vector<results::LoadedRun> runs;
};

}  // namespace starling::report
