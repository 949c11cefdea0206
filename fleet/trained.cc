#include "fleet/trained.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "fleet/blueprint.h"

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
  LogInfo("playing {}", last.path.string());
  return *std::move(last.checkpoint);
}

}  // namespace

Trained LoadTrained(const std::filesystem::path& target) {
  learner::Checkpoint checkpoint = Load(target);
  Config config = ParseConfig(checkpoint.config, "the checkpoint's configuration");
  if (LayoutOf(config).fingerprint() != checkpoint.layout.fingerprint()) {
    throw UserError(target.string() +
                    " holds another net than its configuration describes: "
                    "was it written by another version of Starling?");
  }
  return {std::move(config), std::move(checkpoint)};
}

}  // namespace starling::fleet
