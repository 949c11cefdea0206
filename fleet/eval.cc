#include "fleet/eval.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "actors/evaluator.h"
#include "core/error.h"
#include "core/log.h"
#include "fleet/blueprint.h"
#include "learner/checkpoint.h"

namespace starling::fleet {

namespace {

learner::Checkpoint Load(const std::filesystem::path& target) {
  if (std::filesystem::is_regular_file(target)) {
    try {
      return learner::ReadCheckpoint(target);
    } catch (const std::runtime_error& error) {
      throw UserError(error.what());
    }
  }
  if (!std::filesystem::is_directory(target)) {
    throw UserError(target.string() + " is neither a run directory nor a checkpoint");
  }
  learner::LastGoodResult last = learner::LastGood(target / "checkpoints");
  for (const std::string& why : last.rejected) LogWarn("{}", why);
  if (!last.checkpoint)
    throw UserError("no good checkpoint in " + (target / "checkpoints").string());
  LogInfo("evaluating {}", last.path.string());
  return *std::move(last.checkpoint);
}

}  // namespace

int RunEval(const EvalOptions& options) {
  const learner::Checkpoint checkpoint = Load(options.target);
  const Config config = ParseConfig(checkpoint.config, "the checkpoint's configuration");
  if (BlueprintOf(config).layout.fingerprint() != checkpoint.layout.fingerprint()) {
    throw UserError(options.target.string() +
                    " holds another net than its configuration describes: "
                    "was it written by another version of Starling?");
  }
  const actors::EvalResult result = actors::Evaluate(
      config, checkpoint.weights,
      {.episodes = options.episodes, .greedy = options.greedy, .seed = options.seed});
  if (result.cut > 0) {
    LogWarn("{} episodes did not end by themselves and were cut", result.cut);
  }
  if (options.json) {
    const nlohmann::ordered_json json{
        {"mean_return", result.mean}, {"std", result.std}, {"episodes", result.returns.size()}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::printf("%s: mean return %.2f, standard deviation %.2f over %zu episodes\n",
                config.env.name.c_str(), result.mean, result.std, result.returns.size());
  }
  return kExitDone;
}

}  // namespace starling::fleet
