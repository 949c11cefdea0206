#include "monitor/svg/html.h"

#include <fmt/format.h>

#include <string_view>

namespace starling::monitor {

std::string HtmlEscaped(const std::string& text) {
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
    head +=
        fmt::format("<th scope=\"col\"{}>{}</th>", i < words ? " class=\"word\"" : "", names[i]);
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

}  // namespace starling::monitor
