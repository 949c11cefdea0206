// What people write of their runs, as it stands at the top of a page.
#pragma once

#include <string>

namespace starling::report {

// Plain text to HTML, everything escaped. Paragraphs are parted by empty lines; a line that begins
// with "# " or "## " is a heading, lines that begin with "- " are a list (further lines of an item
// are indented); `within backquotes` is code.
std::string NotesToHtml(const std::string& text);

}  // namespace starling::report
