// The operator's notes on a report.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace starling::report {

// The operator's plain text as HTML, escaped. Empty lines separate paragraphs; a line that begins
// with "# " or "## " is a heading, lines that begin with "- " are a list (further lines of an item
// are indented); `within backquotes` is code.
std::string NotesToHtml(const std::string& text);

// Notes as HTML; "" where there are none.
struct Notes {
  std::string top, end;                      // of the page
  std::map<std::string, std::string> parts;  // below the headings of parts
};

// A line "--- NAME" begins the notes of the part NAME, a line "---" those for the end of the page.
// Throws UserError for a NAME that is not the name of one part, and for notes that begin twice.
Notes NotesOf(const std::string& text, const std::vector<std::string>& parts);

}  // namespace starling::report
