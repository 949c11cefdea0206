// Comma-separated values as in RFC 4180. Files of spreadsheets are read, too: with a byte order
// mark, other ends of lines, and empty lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace starling::report {

// Returns `text` as a field: in quotation marks if it has to be.
std::string CsvField(std::string_view text);

// Returns the fields of each line. Throws std::runtime_error if a quotation mark is not closed.
std::vector<std::vector<std::string>> ParseCsv(std::string_view text);

}  // namespace starling::report
