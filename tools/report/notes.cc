#include "tools/report/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "monitor/svg/html.h"

namespace starling::report {
namespace {

std::string Trimmed(const std::string& line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_last_not_of(kSpace) + 1 - begin);
}

// Turns `backquotes` into <code>. A backquote without its partner stays.
std::string WithCode(const std::string& escaped) {
  std::string html;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = escaped.find('`', at);
    const std::size_t close = open == std::string::npos ? open : escaped.find('`', open + 1);
    if (close == std::string::npos) return html + escaped.substr(at);
    html += escaped.substr(at, open - at) + "<code>" + escaped.substr(open + 1, close - open - 1) +
            "</code>";
    at = close + 1;
  }
}

// Converts notes line by line. A block is a paragraph or an item of a list.
class NotesWriter {
 public:
  void Line(const std::string& raw) {
    const std::string line = Trimmed(raw);
    const bool indented = !raw.empty() && (raw.front() == ' ' || raw.front() == '\t');
    if (line.empty()) {
      EndBlock();
    } else if (line.starts_with("# ") || line.starts_with("## ")) {
      Begin(line.starts_with("## ") ? "h3" : "h2", Trimmed(line.substr(line.find(' '))));
      EndBlock();
    } else if (line.starts_with("- ")) {
      Begin("li", Trimmed(line.substr(2)));
    } else if (tag_ == "p" || (tag_ == "li" && indented)) {
      block_ += "\n" + line;
    } else {
      Begin("p", line);
    }
  }

  std::string End() {
    EndBlock();
    return html_ + (in_list_ ? "</ul>\n" : "");
  }

 private:
  void Begin(const std::string& tag, const std::string& line) {
    EndBlock();
    const bool item = tag == "li";
    if (item != in_list_) html_ += item ? "<ul>\n" : "</ul>\n";
    in_list_ = item;
    tag_ = tag;
    block_ = line;
  }

  void EndBlock() {
    if (tag_.empty()) return;
    html_ += fmt::format("<{0}>{1}</{0}>\n", tag_, WithCode(monitor::HtmlEscaped(block_)));
    tag_.clear();
  }

  bool in_list_ = false;
  std::string tag_, block_, html_;  // the tag of the open block, or ""; its text
};

}  // namespace

std::string NotesToHtml(const std::string& text) {
  NotesWriter writer;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) writer.Line(line);
  return writer.End();
}

Notes NotesOf(const std::string& text, const std::vector<std::string>& parts) {
  constexpr std::string_view kRule = "---";
  Notes notes;
  std::set<std::string> begun;
  std::string* to = &notes.top;
  std::istringstream lines(text);
  // 1. Give each line to the notes that it belongs to.
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = Trimmed(raw);
    if (line != kRule && !line.starts_with(std::string(kRule) + " ")) {
      *to += raw + "\n";
      continue;
    }
    const std::string name = Trimmed(line.substr(kRule.size()));
    if (!begun.insert(name).second) {
      throw UserError(fmt::format("--notes: \"{}\" is there twice", line));
    }
    if (!name.empty() && std::ranges::count(parts, name) == 0) {
      throw UserError(fmt::format(
          "--notes: \"{}\": {}{}", line,
          parts.empty() ? "without --parts there are no parts; write --- alone for the end"
                        : fmt::format("no such part; there are {}", fmt::join(parts, ", ")),
          DidYouMean(name, parts)));
    }
    to = name.empty() ? &notes.end : &notes.parts[name];
  }
  // 2. Write them.
  const auto write = [](std::string& some) {
    const std::string html = NotesToHtml(some);
    some = html.empty() ? "" : "<div class=\"notes\">\n" + html + "</div>\n";
  };
  write(notes.top);
  write(notes.end);
  for (auto& [name, some] : notes.parts) write(some);
  return notes;
}

}  // namespace starling::report
