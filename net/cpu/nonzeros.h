// The positions of nonzeros: the positive outputs of a relu, or the set cells of a game's screen.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace starling::net::cpu {

enum class Which { kNonzero, kPositive };  // a NaN is nonzero, and not positive

// Writes the indices of the `which` elements of x (n), ascending, to `out`, which has room for n +
// 16. Returns their number.
int FindIndices(Which which, int n, const float* x, int* out);

// The indices of each row of a matrix.
class SparseRows {
 public:
  // Finds those of x (rows, width). Returns false, with contents undefined, if there are more than
  // `most` in all.
  bool Find(Which which, int rows, int width, const float* x, int most);

  int rows() const { return static_cast<int>(begin_.size()) - 1; }
  // Columns of row i, ascending.
  std::span<const int> row(int i) const {
    return {indices_.data() + begin_[i], indices_.data() + begin_[i + 1]};
  }

 private:
  std::vector<int> indices_;  // of all rows
  std::vector<int> begin_;    // (rows + 1): the offsets of rows in indices_
};

}  // namespace starling::net::cpu
