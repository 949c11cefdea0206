// The page of a run, for a browser: drawn from the model of the run by the plotter of reports.
//
// The page has parts. A little script asks for them again and again, and swaps those that have
// changed; without it the page stands still.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "monitor/run_follower.h"

namespace starling::monitor {

// All parts of the page, as HTML.
std::string RunParts(RunFollower& run);

// A row of the list of runs.
struct ListedRun {
  std::string link;  // address of its page, relative to the list's
  std::string name, state, env{};
  double steps = 0;
  std::optional<double> mean_return{};
  std::string problem{};  // why it failed, say; "" if nothing is to be said
};

// The one part of a page that lists runs.
std::string ListPart(const std::vector<ListedRun>& runs, const std::string& where);

// A whole page around `parts`. Only the script and the style with `nonce` are to be obeyed.
std::string Document(const std::string& title, const std::string& parts, const std::string& nonce);

}  // namespace starling::monitor
