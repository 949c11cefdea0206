// The whole report as one HTML page that needs nothing beside it.
#pragma once

#include <string>
#include <vector>

#include "tools/report/groups.h"
#include "tools/report/to_score.h"

namespace starling::report {

struct PageText {
  std::string title{};  // "": the names of the environments
  std::string notes{};  // tools/report/notes.h
};

// Of at least one run. The same bytes for the same runs, whenever it is made.
std::string MakePage(const std::vector<Part>& parts, const PageText& text, const Targets& targets);

}  // namespace starling::report
