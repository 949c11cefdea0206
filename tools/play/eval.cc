#include <cstdio>
#include <nlohmann/json.hpp>

#include "actors/evaluator.h"
#include "core/error.h"
#include "core/log.h"
#include "results/trained.h"
#include "tools/play/play.h"

namespace starling::play {

int RunEval(const EvalOptions& options) {
  const auto [config, checkpoint] = results::LoadTrained(options.target);
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

}  // namespace starling::play
