#include "tools/report/csv.h"

#include <stdexcept>
#include <utility>

namespace starling::report {

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char letter : text) {
    if (letter == '"') field += '"';
    field += letter;
  }
  return field + "\"";
}

std::vector<std::vector<std::string>> ParseCsv(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string field;
  bool quoted = false;
  const auto end_line = [&] {
    const bool is_empty = line.empty() && field.empty();
    line.push_back(std::exchange(field, ""));
    if (!is_empty) lines.push_back(line);
    line.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '"') {
      // A doubled quotation mark stands for one.
      const bool doubled = quoted && text.substr(at + 1).starts_with('"');
      if (doubled) field += text[++at];
      if (!doubled) quoted = !quoted;
    } else if (quoted || (letter != ',' && letter != '\n' && letter != '\r')) {
      field += letter;
    } else if (letter == ',') {
      line.push_back(std::exchange(field, ""));
    } else {
      end_line();
    }
  }
  if (quoted) throw std::runtime_error("a quotation mark is not closed: the file is cut");
  end_line();
  return lines;
}

}  // namespace starling::report
