#include "core/config/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace starling {
namespace {

constexpr std::size_t kMaxLength = 200;  // a longer name is no slip, and the search is quadratic

std::string Plain(std::string_view word) {
  std::string plain(word);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return plain;
}

// Dynamic programming: row[j] is the distance of a[0, i) from b[0, j). Keeps the last three rows.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kMaxLength) return "";
  const std::string* nearest = nullptr;
  std::size_t least = kMaxLength;
  for (const std::string& name : known) {
    if (name.size() > kMaxLength) continue;
    const std::size_t distance = EditDistance(Plain(word), Plain(name));
    const std::size_t length = std::max(word.size(), name.size());
    const bool near = distance <= std::max<std::size_t>(length / 3, 1) && distance < length;
    if (near && distance < least) {
      least = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

}  // namespace starling
