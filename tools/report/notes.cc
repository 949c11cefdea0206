#include "tools/report/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

// The NAME of a line "--- NAME", "" of a line "---"; nullopt of any other line, such as "----".
std::optional<std::string> NameOfRule(const std::string& line) {
  constexpr std::string_view kRule = "---";
  if (!line.starts_with(kRule)) return std::nullopt;
  const std::string rest = line.substr(kRule.size()), name = Trimmed(rest);
  return name.empty() || rest.find(name) > 0 ? std::optional(name) : std::nullopt;
}

// Why there can be no notes of the part `name`; "" if there can.
std::string MistakeIn(const std::string& name, const std::vector<std::string>& parts) {
  const auto count = std::ranges::count(parts, name);
  if (name.empty() || count == 1) return "";
  if (count > 1) return fmt::format("{} parts have this name", count);
  if (parts.empty()) return "without --parts there are no parts; --- alone begins the end";
  return fmt::format("no such part; there are {}{}", fmt::join(parts, ", "),
                     DidYouMean(name, parts));
}

}  // namespace

std::string NotesToHtml(const std::string& text) {
  NotesWriter writer;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) writer.Line(line);
  return writer.End();
}

Notes NotesOf(const std::string& text, const std::vector<std::string>& parts) {
  Notes notes;
  std::set<std::string> begun;
  std::string* to = &notes.top;
  std::istringstream lines(text);
  // 1. Give each line to the notes that it belongs to.
  for (std::string line; std::getline(lines, line);) {
    const std::optional<std::string> name = NameOfRule(line);
    if (!name) {
      *to += line + "\n";
      continue;
    }
    const bool is_new = begun.insert(*name).second;
    const std::string mistake = is_new ? MistakeIn(*name, parts) : "it is there twice";
    if (!mistake.empty()) {
      throw UserError(fmt::format("--notes: \"{}\": {}", Trimmed(line), mistake));
    }
    to = name->empty() ? &notes.end : &notes.parts[*name];
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
