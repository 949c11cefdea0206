// The whole report as one HTML page that needs nothing beside it.
#pragma once

#include <string>
#include <vector>

#include "fleet/report/loaded_run.h"

namespace starling::fleet {

// Of at least one run. The same bytes for the same runs, whenever it is made.
std::string MakePage(const std::vector<LoadedRun>& runs);

}  // namespace starling::fleet
