#include "tools/report/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "tools/report/html.h"

namespace starling::report {
namespace {

// Of a block that goes on until a line of another kind comes.
enum class Kind { kNone, kParagraph, kItem };

std::string Trimmed(const std::string& line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_last_not_of(kSpace) + 1 - begin);
}

// A backquote without its partner stays one.
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

class Writer {
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

  Kind kind_ = Kind::kNone;
  bool in_list_ = false;
  std::string block_, html_;
};

}  // namespace

std::string NotesToHtml(const std::string& text) {
  Writer writer;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) writer.Line(line);
  return writer.End();
}

}  // namespace starling::report
