#include "fleet/eval_process.h"

#include <gtest/gtest.h>

#include <vector>

namespace starling::fleet {
namespace {

struct Look {
  std::uint64_t steps;
  bool due;
  std::uint64_t taken = 0;  // steps of the weights that are evaluated then; 0: none are
};

TEST(EvalSchedule, OncePerMultipleWhenItIsPassed) {
  const struct {
    const char* rule;
    std::uint64_t last;  // steps of the last evaluation
    std::vector<Look> looks;
  } cases[] = {
      {"due until weights are taken, and then at the next multiple",
       0,
       {{0, false},
        {99, false},
        {100, true},
        {103, true, 103},
        {103, false},
        {199, false},
        {207, true}}},
      {"multiples that were missed are not made up for",
       0,
       {{560, true, 560}, {599, false}, {600, true}}},
      // The copy may be newer than the version that was looked at.
      {"what counts is what was taken", 0, {{199, true, 203}, {204, false}, {300, true}}},
      {"goes on behind the last evaluation", 230, {{240, false}, {300, true}}},
      {"steps that go back, as from a checkpoint, count from there",
       0,
       {{730, true, 730}, {250, false}, {299, false}, {300, true}}},
      {"steps that went back while nobody looked", 730, {{250, false}, {310, true}}},
  };
  for (const auto& [rule, last, looks] : cases) {
    EvalSchedule schedule(100, last);
    for (const auto& [steps, due, taken] : looks) {
      EXPECT_EQ(schedule.Due(steps), due) << rule << ", at " << steps;
      if (taken > 0) schedule.Done(taken);
    }
  }
}

}  // namespace
}  // namespace starling::fleet
