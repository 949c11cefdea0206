// "Did you mean ...?": the known name that is nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace starling {

// Returns the member of `known` with the smallest distance from `word`, the first of equals, or ""
// if the distance is more than a third of its letters. The distance is the number of letters
// inserted, dropped, replaced or swapped with their neighbour (optimal string alignment); it
// ignores case and the difference between '-' and '_'.
std::string NearestName(std::string_view word, const std::vector<std::string>& known);

// Returns `; did you mean "..."?` for the end of a sentence, or "" if no name is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace starling
