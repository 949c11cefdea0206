// `starling eval`: plays fresh episodes with the weights of a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>

namespace starling::eval {

struct EvalOptions {
  std::filesystem::path target;  // a run directory (its newest good checkpoint) or a checkpoint
  std::int64_t episodes = 100;
  bool greedy = false;  // the likeliest action instead of a drawn one
  bool json = false;    // {"mean_return", "std", "episodes"} on standard output
  std::uint64_t seed = 1;
};

// Returns the exit status. Throws UserError.
int RunEval(const EvalOptions& options);

}  // namespace starling::eval
