// Whether a page is well formed: every tag closed, in order.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace starling {

// The first thing that is wrong with `html`, or "". Comments and scripts are not expected in it.
inline std::string HtmlMistake(const std::string& html) {
  static const std::set<std::string> kVoid = {"meta", "br", "hr", "img", "link", "input"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag does not end: " + html.substr(at, 40);
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return "a tag within a tag: " + tag;
    if (tag.starts_with("!doctype")) continue;
    const bool closes = tag.starts_with("/");
    const std::size_t begin = closes ? 1 : 0;
    const std::string name = tag.substr(begin, tag.find_first_of(" \n/", begin) - begin);
    if (name.empty()) return "a tag without a name: " + html.substr(at, 40);
    if (closes) {
      if (open.empty() || open.back() != name) {
        return "</" + name + "> closes " + (open.empty() ? "nothing" : "<" + open.back() + ">");
      }
      open.pop_back();
    } else if (!tag.ends_with("/") && !kVoid.contains(name)) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace starling
