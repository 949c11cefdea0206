// The process that evaluates a run while it is trained: `starling-actor --evaluate`. It only reads: the
// newest weights from the learner's shared memory, at the end those of the last checkpoint. Its
// episodes draw from streams of their own (actors/evaluator.h), under the seed run.seed + version.
#pragma once

#include <filesystem>
#include <functional>

namespace starling::fleet {

struct EvalProcessOptions {
  std::filesystem::path run_dir;
  bool finish = false;  // evaluate the newest checkpoint, unless that was done, and end
  int stop_fd = -1;     // readable: finish, after what is under way
  std::function<bool()> abandoned{};  // true: end, between two evaluations; may be empty
};

// Waits for a learner, follows it from start to start, and writes what results/eval_results.h says.
// Throws UserError if the run is not to be evaluated (eval.every_steps = 0).
void RunEvalProcess(const EvalProcessOptions& options);

}  // namespace starling::fleet
