// The small pieces of HTML of which a page consists.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace starling::monitor {

// Escapes text for HTML and for attributes in double quotes.
std::string HtmlEscaped(const std::string& text);

// All other arguments are HTML already. `how` are classes, or "".
std::string Cell(const std::string& html, const char* how = "");
// Cells of a head; the first `words` of them are left-aligned, as their columns hold words.
std::string Head(const std::vector<std::string>& names, std::size_t words);
// A table that scrolls where the window is narrow.
std::string Table(const std::string& head, const std::string& rows);

std::string Figure(const std::string& caption, const std::string& drawing);
// Hides `html` until a click on `title`.
std::string Folded(const std::string& title, const std::string& html);

}  // namespace starling::monitor
