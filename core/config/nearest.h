// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace starling {

// The member of `known` that `word` is most likely a slip of: the fewest letters inserted, dropped,
// replaced or swapped with their neighbour (optimal string alignment), case and '-' for '_' aside;
// the first of equals. "" if even that one is further away than a third of its letters.
std::string NearestName(std::string_view word, const std::vector<std::string>& known);

// `; did you mean "..."?` for the end of a sentence, or "" if nothing is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace starling
