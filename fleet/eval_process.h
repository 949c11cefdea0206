// The process that evaluates a run during training: `starling-actor --evaluate`. It only reads: the
// newest weights from the learner's shared memory, at the end those of the last checkpoint. Its
// episodes have random streams of their own (actors/player.h), under the seed run.seed + version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/clock.h"

namespace starling::fleet {

// The times of evaluations: whenever the steps have passed a multiple of eval.every_steps. A late
// caller gets one evaluation, of the newest weights; missed multiples are not made up for.
class EvalSchedule {
 public:
  // `evaluated`: steps of the newest evaluated weights, 0 if there are none. REQUIRES: every >= 1.
  EvalSchedule(std::uint64_t every, std::uint64_t evaluated) : every_(every) { Done(evaluated); }

  // Returns whether weights of so many steps are to be evaluated now. Steps may go back: to the
  // checkpoint of a resumed learner.
  bool Due(std::uint64_t steps) {
    if (steps < newest_) passed_ = steps / every_;
    newest_ = steps;
    return steps / every_ > passed_;
  }
  // Notes that weights of so many steps were taken.
  void Done(std::uint64_t steps) {
    newest_ = steps;
    passed_ = steps / every_;
  }

 private:
  std::uint64_t every_;
  std::uint64_t newest_ = 0;
  std::uint64_t passed_ = 0;  // multiples
};

struct EvalProcessOptions {
  std::filesystem::path run_dir;
  bool finish = false;                // evaluate only the newest checkpoint, unless that was done
  int stop_fd = -1;                   // readable: finish after the present evaluation
  std::function<bool()> abandoned{};  // true: end after the present evaluation; may be empty
};

// Waits for a learner, follows it from restart to restart, and writes the files of
// results/eval_results.h. Throws UserError if evaluation is off (eval.every_steps = 0).
void RunEvalProcess(const EvalProcessOptions& options, const Clock& clock = SteadyClock());

}  // namespace starling::fleet
