#include "fleet/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/locked_file.h"
#include "core/text.h"
#include "fleet/actor_command.h"
#include "fleet/check_config.h"
#include "learner/storage/start.h"
#include "learner/storage/terms.h"
#include "results/initial_net.h"
#include "results/run_dir.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;

// Keys that matter only when a run begins.
constexpr std::string_view kOfABeginning[] = {"run.init_from", "net.init", "net.initial",
                                              "net.deviation_init"};

LearnerCommand LearnerOf(const Config& config, const TrainOptions& options) {
  LearnerCommand learner = LearnerCommandOf(config, options.programs);
  if (!options.no_actors || learner.has_actors) return learner;
  throw UserError(
      "--no-actors contradicts updates.exchange = \"allreduce\": its ranks play themselves");
}

Plan PlanNew(const TrainOptions& options) {
  ConfigSource source;
  Plan plan{.config = LoadConfig(options.config, options.overrides, &source, CheckConfig)};
  plan.learner = LearnerOf(plan.config, options);
  if (!options.no_actors) CheckOwnActor(plan.config);
  if (!options.init_from.empty()) plan.config.run.init_from = options.init_from;
  results::ResolveFirstWeights(plan.config);
  const bool named = options.run_dir || !source.Where("run.dir").empty();
  plan.run_dir = results::CreateRunDir(options.run_dir.value_or(plan.config.run.dir), !named);
  return plan;
}

Plan PlanResume(const TrainOptions& options) {
  const fs::path& run_dir = *options.resume;
  results::CheckResumable(run_dir);
  if (results::IsSimulated(run_dir)) {
    throw UserError(fmt::format(
        "--resume {}: it was simulated, and there is no fleet to go on with; a new run may start "
        "from its weights: starling train CONFIG --init-from {}",
        run_dir.string(), ShellQuoted(run_dir.string())));
  }
  ConfigSource source;
  Plan plan{.config = LoadConfig(run_dir / "config.toml", options.overrides, &source, CheckConfig),
            .run_dir = run_dir,
            .resume = true};
  plan.learner = LearnerOf(plan.config, options);
  if (!options.no_actors) CheckOwnActor(plan.config);
  for (const std::string_view key : kOfABeginning) {
    if (const std::string where = source.Where(key); where.starts_with("--set")) {
      throw UserError(where + ": only a new run starts from other weights, this one has its own");
    }
  }
  if (const std::string where = source.Where("run.dir"); where.starts_with("--set")) {
    throw UserError(where + ": a resumed run stays in its directory; leave it out");
  }
  try {
    learner::CheckStart(plan.config, results::InitialNetToResume(plan.config, run_dir), run_dir,
                        true);
  } catch (const learner::NoGoodCheckpoint& error) {
    throw UserError(error.what() + results::WayToACheckpoint(run_dir));
  }
  return plan;
}

// ---- --continue

// The directory of the run, which must be the same at every call.
fs::path DirOf(const TrainOptions& options) {
  if (options.run_dir) return *options.run_dir;
  ConfigSource source;
  const Config config = LoadConfig(options.config, options.overrides, &source);
  if (!source.Where("run.dir").empty()) return config.run.dir;
  throw UserError(
      "--continue must know its run: give --run-dir DIR, or run.dir in the configuration");
}

// Returns in which keys that CONFIG sets the run is another, or "". A CONFIG that is gone or wrong
// by now is no news: nothing of it is needed.
std::string IgnoredOf(const TrainOptions& options, const Config& run) {
  ConfigSource source;
  std::string difference;
  try {
    const Config config = LoadConfig(options.config, options.overrides, &source);
    difference = Difference(run, config, [&](const std::string& key) {
      // Paths are absolute in a run's configuration.
      constexpr std::string_view kPaths[] = {"wire.secret", "wire.allowed", "status.token_file"};
      const std::string where = source.Where(key);
      return !where.empty() && !where.starts_with("--set") &&
             std::ranges::count(kOfABeginning, key) + std::ranges::count(kPaths, key) == 0;
    });
  } catch (const UserError&) {
  }
  if (difference.empty()) return "";
  return fmt::format(
      "the run goes on with its own {}, not with {}: {}; --set changes a run that has begun",
      (*options.resume / "config.toml").string(), options.config.string(), difference);
}

Plan GoOn(TrainOptions options, const fs::path& run_dir) {
  options.resume = run_dir;
  std::erase_if(options.overrides, [](const std::string& setting) {
    const std::string key = setting.substr(0, setting.find('='));
    return key == "run.dir" || std::ranges::count(kOfABeginning, key) > 0;
  });
  Plan plan = PlanResume(options);
  plan.warning = IgnoredOf(options, plan.config);
  return plan;
}

// Returns a sentence about where the files of a run went that was killed before its first
// checkpoint; "" if there was none.
std::string MakeRoom(const fs::path& run_dir) {
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(run_dir / name, ignored); };
  if (!has("config.toml") || !has("log") || results::IsSimulated(run_dir)) return "";
  if (IsLocked(run_dir / "lock") || IsLocked(run_dir / "log")) {
    throw UserError(fmt::format("--continue: another process trains in {}", run_dir.string()));
  }
  if (results::IsFailedStart(run_dir)) return "";
  fs::path wanted = run_dir.has_filename() ? run_dir : run_dir.parent_path();
  wanted += ".killed";
  return fmt::format("{} had no checkpoint to go on from: begun again, and it was moved to {}",
                     run_dir.string(), results::MoveAside(run_dir, wanted).string());
}

Plan Continue(const TrainOptions& options) {
  // 1. A run with a checkpoint goes on. One whose checkpoints are damaged is refused: to begin again
  // would bury it.
  const fs::path run_dir = DirOf(options);
  const bool damaged = !learner::RunLine(run_dir / "checkpoints").damaged().empty();
  if (damaged || results::HasCheckpoint(run_dir)) return GoOn(options, run_dir);
  // 2. Any other begins, once its configuration is right.
  LoadConfig(options.config, options.overrides, nullptr, CheckConfig);
  const std::string moved = MakeRoom(run_dir);
  TrainOptions begins = options;
  begins.run_dir = run_dir;
  Plan plan = PlanNew(begins);
  plan.warning = moved;
  return plan;
}

}  // namespace

Plan PlanOf(const TrainOptions& options) {
  if (options.resume) return PlanResume(options);
  return options.continues ? Continue(options) : PlanNew(options);
}

}  // namespace starling::fleet
