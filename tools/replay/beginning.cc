#include "tools/replay/beginning.h"

#include <fmt/format.h>

#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/error.h"
#include "learner/apply/schedule.h"
#include "learner/storage/checkpoint_format.h"
#include "learner/storage/journal_reader.h"
#include "results/initial_net.h"

namespace starling::replay {
namespace {

// Returns nullopt if the checkpoint is no cut, damaged, or the journal behind it is not there.
std::optional<Beginning> AtReplayableCut(const std::filesystem::path& path,
                                         const std::vector<learner::LineSegment>& line) {
  const std::filesystem::path states = learner::ActorStatesPath(path);
  if (!std::filesystem::exists(states)) return std::nullopt;
  try {
    learner::Checkpoint cut = learner::ReadCheckpoint(path);
    if (!cut.journal_whole || !learner::Covers(line, cut.journal)) return std::nullopt;
    cut.actors = learner::ReadActorStates(states);
    return AtCut(cut, path);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

}  // namespace

Config ConfigOfRun(const std::filesystem::path& run_dir) {
  const std::filesystem::path path = run_dir / "config.toml";
  if (!std::filesystem::is_regular_file(path)) {
    throw UserError(run_dir.string() + " is no run directory: it has no config.toml");
  }
  return LoadConfig(path);
}

Beginning AtFirstWeights(const Config& config) {
  Beginning beginning;
  try {
    beginning.state.weights = results::InitialNetOf(config).initial;
  } catch (const UserError& error) {
    if (config.run.init_from.empty()) throw;
    throw UserError(
        fmt::format("{} (run.init_from: a replay begins with those weights)", error.what()));
  }
  beginning.entropy = learner::EntropyCoef(config.loss, config.run.steps, 0);
  return beginning;
}

Beginning AtCut(const learner::Checkpoint& cut, const std::filesystem::path& path) {
  const Config config = ParseConfig(cut.config, path.string());
  return {.state = cut,
          .entropy = learner::EntropyCoef(config.loss, config.run.steps, cut.steps),
          .actors = cut.actors,
          .journal = cut.journal,
          .counters = learner::Counters::Restore(cut.counters),
          .name = "checkpoints/" + path.filename().string()};
}

std::optional<Beginning> AtNewestCut(const std::filesystem::path& run_dir) {
  const learner::LastGoodResult cut = learner::NewestCut(run_dir / "checkpoints");
  if (cut.checkpoint) return AtCut(*cut.checkpoint, cut.path);
  // No actor has a state at version 0. If later checkpoints are no cuts, all of the run would have
  // to be done again.
  learner::LastGoodResult first = learner::LastGood(run_dir / "checkpoints");
  if (!first.checkpoint || first.checkpoint->version > 0) return std::nullopt;
  first.checkpoint->actors = learner::ActorStates{.base = first.checkpoint->term};
  return AtCut(*first.checkpoint, first.path);
}

std::optional<Beginning> AtOldestCut(const std::filesystem::path& run_dir) {
  const auto line = learner::LineOf(run_dir / "journal");
  for (const auto& path : learner::ListCheckpoints(run_dir / "checkpoints")) {
    if (auto cut = AtReplayableCut(path, line)) return cut;
  }
  return std::nullopt;
}

std::optional<Beginning> AtNewestCutUpTo(const std::filesystem::path& run_dir,
                                         std::uint64_t version) {
  const auto line = learner::LineOf(run_dir / "journal");
  const auto paths = learner::ListCheckpoints(run_dir / "checkpoints");
  for (const auto& path : paths | std::views::reverse) {
    const auto id =
        learner::ParseCheckpointName(path.filename().string(), learner::kCheckpointSuffix);
    if (!id || id->version > version) continue;
    if (auto cut = AtReplayableCut(path, line)) return cut;
  }
  return std::nullopt;
}

}  // namespace starling::replay
