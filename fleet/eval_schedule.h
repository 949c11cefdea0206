// When weights are evaluated: each time their steps have passed a multiple of eval.every_steps. Whoever
// asks late gets one evaluation, of the newest; multiples that were missed are not made up for.
#pragma once

#include <cstdint>

namespace starling::fleet {

class EvalSchedule {
 public:
  // `every` >= 1; `evaluated` is how many steps the last weights that were evaluated had, 0 if there
  // were none.
  EvalSchedule(std::uint64_t every, std::uint64_t evaluated) : every_(every) { Done(evaluated); }

  // Whether weights of so many steps are to be evaluated now. Steps that go back, to a checkpoint that
  // a learner went on from, count on from there.
  bool Due(std::uint64_t steps) {
    if (steps < newest_) passed_ = steps / every_;
    newest_ = steps;
    return steps / every_ > passed_;
  }
  // Weights of so many steps were taken.
  void Done(std::uint64_t steps) {
    newest_ = steps;
    passed_ = steps / every_;
  }

 private:
  std::uint64_t every_;
  std::uint64_t newest_ = 0;
  std::uint64_t passed_ = 0;  // multiples
};

}  // namespace starling::fleet
