// The small pieces of HTML that a page is put together from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace starling::report {

// Text as it may stand in HTML.
std::string Escaped(const std::string& text);

// All other arguments are HTML already. `how` are classes, or "".
std::string Cell(const std::string& html, const char* how = "");
// Cells of a head; the first `words` of them stand to the left, over words.
std::string Head(const std::vector<std::string>& names, std::size_t words);
// With as many columns as it needs, scrolling where the window is narrow.
std::string Table(const std::string& head, const std::string& rows);

std::string Figure(const std::string& caption, const std::string& drawing);
// Closed until it is clicked at.
std::string Folded(const std::string& title, const std::string& html);

}  // namespace starling::report
