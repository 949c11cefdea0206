#include "core/log.h"

#include <gmock/gmock.h>

#include <string>

namespace starling {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// What it says at `now_ms`.
std::string Said(LineBudget& budget, std::int64_t now_ms, const std::string& text) {
  testing::internal::CaptureStderr();
  budget.Info(now_ms, text);
  return testing::internal::GetCapturedStderr();
}

TEST(LineBudget, SaysSoManyLinesAPeriodAndCountsTheRest) {
  LineBudget budget(2, 1000);
  EXPECT_THAT(Said(budget, 500, "one"), HasSubstr("one\n"));
  EXPECT_THAT(Said(budget, 600, "two"), HasSubstr("two\n"));
  EXPECT_THAT(Said(budget, 700, "three"), IsEmpty());
  EXPECT_THAT(Said(budget, 1499, "four"), IsEmpty());
  EXPECT_THAT(Said(budget, 1500, "five"),
              HasSubstr("five (2 lines like this were left out before it)\n"));
  EXPECT_THAT(Said(budget, 1501, "six"), HasSubstr("six\n"));
  EXPECT_THAT(Said(budget, 2000, "seven"), IsEmpty());
}

}  // namespace
}  // namespace starling
