// The page of a run, for a browser: drawn from the model of the run by the plotter of reports.
//
// The page has parts. A little script asks for them again and again, and swaps those that have
// changed; without it the page stands still.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "monitor/run_follower.h"

namespace starling::monitor {

// All parts of the page, as HTML.
std::string RunParts(RunFollower& run);

// A row of the list of runs.
struct ListedRun {
  std::string link, name, state{}, env{};  // `link`: the address of its page
  double steps = 0;
  std::optional<double> mean_return{};
  std::string problem{};  // why it failed, say; "" if nothing is to be said
};

// The one part of a page that lists runs. `more` are not in it.
std::string ListPart(const std::vector<ListedRun>& runs, std::size_t more,
                     const std::string& where);

// A whole page around `parts`. Only the script and the style with `nonce` are to be obeyed.
std::string Document(const std::string& title, const std::string& parts, const std::string& nonce);

}  // namespace starling::monitor
