#include "learner/start.h"

#include "core/error.h"
#include "core/log.h"
#include "learner/checkpoint.h"
#include "learner/optimizer.h"

namespace starling::learner {

Start FindStart(const Config& config, const NetBlueprint& net, const std::filesystem::path& run_dir,
                bool resume) {
  Start start;
  const auto dir = run_dir / "checkpoints";
  if (resume) {
    LastGoodResult last = LastGood(dir);
    for (const std::string& why : last.rejected) LogWarn("{}", why);
    if (!last.checkpoint) {
      throw UserError("no good checkpoint in " + dir.string() + ": the run cannot be resumed");
    }
    Checkpoint& from = *last.checkpoint;
    if (from.layout.fingerprint() != net.layout.fingerprint()) {
      throw UserError(last.path.string() + " holds another net than the configuration describes; " +
                      "resume with the net it was trained with");
    }
    start.standing = {.version = from.version,
                      .steps = from.steps,
                      .optimizer_step = from.optimizer_step,
                      .weights = std::move(from.weights),
                      .state = std::move(from.state)};
    if (start.standing.state.size() != NumSlots(MakeOptimizerSpec(config.optimizer))) {
      throw UserError(last.path.string() + " holds the state of another optimizer than " +
                      "optimizer.kind = \"" + config.optimizer.kind + "\"");
    }
    start.counters = Counters::Restore(from.counters);
    start.cut_journal_at = from.journal_offset;
    start.checkpoint = "checkpoints/" + last.path.filename().string();
    LogInfo("resuming from {} (version {}, {} steps); what came after it is lost",
            last.path.string(), from.version, from.steps);
    start.standing.term = OpenTerm(dir, from.term + 1);
  } else {
    start.standing.weights = net.initial;
    start.standing.term = OpenTerm(dir);
  }
  if (config.run.steps > start.standing.steps) return start;
  throw UserError("the run has done " + std::to_string(start.standing.steps) +
                  " steps already; raise run.steps (--set run.steps=...) to go on");
}

}  // namespace starling::learner
