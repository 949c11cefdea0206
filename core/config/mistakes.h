// What is wrong with a file that an operator wrote, collected before anything of it is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace starling {

// Where something stands: a line and column of a file, or elsewhere (line 0).
struct Place {
  std::string text;  // "file:line:column" or "--set section.key=value"
  std::uint32_t line = 0, column = 0;
};

class Mistakes {
 public:
  static constexpr std::size_t kMost = 100;  // nobody mends more at once

  // Each sentence of a place once, unless it is full.
  void Add(const Place& place, const std::string& sentence);
  bool full() const { return found_.size() >= kMost; }
  // One line each, in the order of the file; what stands elsewhere comes last. "" if there are none.
  std::string Text() const;

 private:
  std::vector<std::pair<Place, std::string>> found_;
  std::set<std::string> lines_;
};

}  // namespace starling
