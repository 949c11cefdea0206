// The operator's notes on a report.
#pragma once

#include <string>

namespace starling::report {

// The operator's plain text as HTML, escaped. Empty lines separate paragraphs; a line that begins
// with "# " or "## " is a heading, lines that begin with "- " are a list (further lines of an item
// are indented); `within backquotes` is code.
std::string NotesToHtml(const std::string& text);

}  // namespace starling::report
