#include "learner/storage/same_numbers.h"

#include <fmt/format.h>

#include "core/error.h"

namespace starling::learner {

void CheckSameNumbers(const Config& config, const Checkpoint& from, const std::string& path) {
  const EnvConfig theirs = ParseConfig(from.config, "the configuration in " + path).env;
  const auto check = [&](const char* key, bool ours, bool learnt) {
    if (ours == learnt) return;
    throw UserError(fmt::format("{} = {}: {} holds a net that has learnt with {}; set it so", key,
                                ours, path, learnt),
                    key);
  };
  check("env.normalize_observations", config.env.normalize_observations,
        theirs.normalize_observations);
  check("env.normalize_rewards", config.env.normalize_rewards, theirs.normalize_rewards);
}

}  // namespace starling::learner
