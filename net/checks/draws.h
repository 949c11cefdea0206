// Shapes of checks, and their random inputs that are no floats.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "net/checks/trial.h"

namespace starling::net::checks {

// Rows of an array, of which only some columns count.
struct Columns {
  int n, width, before, after;  // columns beside those that count
  int row() const { return before + width + after; }
  std::string Name() const {
    return fmt::format("{} rows of {}, {} before and {} behind", n, width, before, after);
  }
};

template <class T>
inline std::vector<T> Below(Trial& trial, int count, int bound) {
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(trial.random().Below(bound));
  return values;
}

// `n` different rows of `all`, in any order.
inline std::vector<std::int32_t> Shuffled(Trial& trial, int n, int all) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(all));
  std::iota(rows.begin(), rows.end(), 0);
  for (int i = 0; i < n; ++i) {
    std::swap(rows[static_cast<std::size_t>(i)],
              rows[static_cast<std::size_t>(i) + trial.random().Below(all - i)]);
  }
  rows.resize(static_cast<std::size_t>(n));
  return rows;
}

}  // namespace starling::net::checks
