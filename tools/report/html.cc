#include "tools/report/html.h"

#include <fmt/format.h>

#include <sstream>

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
    html_ += fmt::format("<{0}>{1}</{0}>\n", tag_, WithCode(Escaped(block_)));
    tag_.clear();
  }

  bool in_list_ = false;
  std::string tag_, block_, html_;  // the tag of the open block, or ""; its text
};

}  // namespace

std::string Escaped(const std::string& text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr const char* kEscapes[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : text) {
    const std::size_t at = kSpecial.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += kEscapes[at];
    }
  }
  return out;
}

std::string Cell(const std::string& html, const char* how) {
  return *how == '\0' ? fmt::format("<td>{}</td>", html)
                      : fmt::format("<td class=\"{}\">{}</td>", how, html);
}

std::string Head(const std::vector<std::string>& names, std::size_t words) {
  std::string head;
  for (std::size_t i = 0; i < names.size(); ++i) {
    head += fmt::format("<th{}>{}</th>", i < words ? " class=\"word\"" : "", names[i]);
  }
  return head;
}

std::string Table(const std::string& head, const std::string& rows) {
  return fmt::format(
      "<div class=\"wide\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>"
      "\n",
      head, rows);
}

std::string Figure(const std::string& caption, const std::string& drawing) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", caption, drawing);
}

std::string Folded(const std::string& title, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", title, html);
}

std::string NotesToHtml(const std::string& text) {
  NotesWriter writer;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) writer.Line(line);
  return writer.End();
}

}  // namespace starling::report
