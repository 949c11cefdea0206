// Where the numbers of an array are that count: what relu left, the set cells of a game's screen.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace starling::net::cpu {

enum class Which { kNonzero, kPositive };  // a NaN is nonzero, and not positive

// Writes the indices of those of x (n), ascending, to `out`, which has room for n + 16; returns how
// many there are.
int FindIndices(Which which, int n, const float* x, int* out);

// The same for each row of a matrix.
class SparseRows {
 public:
  // Of x (rows, width). False, and nothing to use, if there are more than `most` in all.
  bool Find(Which which, int rows, int width, const float* x, int most);

  int rows() const { return static_cast<int>(begin_.size()) - 1; }
  // Columns of row i, ascending.
  std::span<const int> row(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return {indices_.data() + begin_[at], indices_.data() + begin_[at + 1]};
  }

 private:
  std::vector<int> indices_;  // of all rows
  std::vector<int> begin_;    // (rows) and the end
};

}  // namespace starling::net::cpu
