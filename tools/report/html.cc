#include "tools/report/html.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

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

// Converts notes line by line.
class NotesWriter {
 public:
  void Line(const std::string& raw) {
    const std::string line = Trimmed(raw);
    const bool indented = !raw.empty() && (raw.front() == ' ' || raw.front() == '\t');
    if (line.empty()) {
      EndBlock();
    } else if (line.starts_with("# ") || line.starts_with("## ")) {
      End();
      const int level = line.starts_with("## ") ? 3 : 2;
      html_ += fmt::format("<h{0}>{1}</h{0}>\n", level,
                           WithCode(Escaped(Trimmed(line.substr(line.find(' '))))));
    } else if (line.starts_with("- ")) {
      Begin(Kind::kItem, Trimmed(line.substr(2)));
    } else if (kind_ == Kind::kParagraph || (kind_ == Kind::kItem && indented)) {
      block_ += "\n" + line;
    } else {
      Begin(Kind::kParagraph, line);
    }
  }

  std::string End() {
    EndBlock();
    EndList();
    return html_;
  }

 private:
  enum class Kind { kNone, kParagraph, kItem };

  void Begin(Kind kind, const std::string& line) {
    EndBlock();
    if (kind == Kind::kParagraph) EndList();
    if (kind == Kind::kItem && !in_list_) html_ += "<ul>\n";
    in_list_ = kind == Kind::kItem;
    kind_ = kind;
    block_ = line;
  }

  void EndBlock() {
    if (kind_ == Kind::kNone) return;
    const char* const tag = kind_ == Kind::kItem ? "li" : "p";
    html_ += fmt::format("<{0}>{1}</{0}>\n", tag, WithCode(Escaped(block_)));
    kind_ = Kind::kNone;
  }

  void EndList() {
    if (in_list_) html_ += "</ul>\n";
    in_list_ = false;
  }

  Kind kind_ = Kind::kNone;  // of the open block
  bool in_list_ = false;
  std::string block_, html_;
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
