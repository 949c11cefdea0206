// Lines that are worth reading one by one, up to a number of them in a period: what comes after is
// counted, and told with the first line of a later period.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace starling::learner {

class LineBudget {
 public:
  LineBudget(int lines, std::int64_t period_ms) : lines_(lines), period_ms_(period_ms) {}

  // Says `text` if the period that began with its first line has room. `now_ms` is any monotonic
  // clock.
  void Info(std::int64_t now_ms, std::string_view text);

 private:
  const int lines_;
  const std::int64_t period_ms_;
  std::optional<std::int64_t> begin_ms_;  // of the period
  int said_ = 0;                          // in it
  std::uint64_t left_out_ = 0;
};

}  // namespace starling::learner
