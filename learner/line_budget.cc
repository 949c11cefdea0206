#include "learner/line_budget.h"

#include <utility>

#include "core/log.h"

namespace starling::learner {

void LineBudget::Info(std::int64_t now_ms, std::string_view text) {
  if (!begin_ms_ || now_ms - *begin_ms_ >= period_ms_) {
    begin_ms_ = now_ms;
    said_ = 0;
  }
  if (said_ == lines_) {
    ++left_out_;
    return;
  }
  ++said_;
  if (left_out_ == 0) {
    LogInfo("{}", text);
  } else {
    LogInfo("{} ({} lines like this were left out before it)", text, std::exchange(left_out_, 0));
  }
}

}  // namespace starling::learner
