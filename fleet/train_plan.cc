#include "fleet/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/locked_file.h"
#include "core/text.h"
#include "fleet/actor_command.h"
#include "fleet/check_config.h"
#include "learner/storage/start.h"
#include "monitor/run_follower.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;

// Keys that matter only when a run begins.
constexpr std::string_view kOnlyAtBeginning[] = {"run.init_from", "net.init", "net.initial",
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
        "{}: it was simulated, and there is no fleet to go on with; a new run may start "
        "from its weights: starling train CONFIG --init-from {}",
        run_dir.string(), ShellQuoted(run_dir.string())));
  }
  ConfigSource source;
  Plan plan{.config = LoadConfig(run_dir / "config.toml", options.overrides, &source, CheckConfig),
            .run_dir = run_dir,
            .resume = true};
  plan.learner = LearnerOf(plan.config, options);
  if (!options.no_actors) CheckOwnActor(plan.config);
  for (const std::string_view key : kOnlyAtBeginning) {
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

// Not compared: config.toml of a run has these paths as absolute ones, and these values may be
// those of its machine.
constexpr std::string_view kResolved[] = {"wire.secret", "wire.allowed", "status.token_file",
                                          "actors.count", "actors.instructions"};

// Returns a sentence about keys that CONFIG sets otherwise than the run, or "". A CONFIG that is
// gone or wrong by now is no news: nothing of it is needed.
std::string IgnoredOf(const TrainOptions& options, const Config& run) {
  std::string difference;
  try {
    ConfigSource source;
    const Config config = LoadConfig(options.config, options.overrides, &source);
    difference = Difference(run, config, [&](const std::string& key) {
      const std::string where = source.Where(key);
      return !where.empty() && !where.starts_with("--set") &&
             std::ranges::count(config.automatic, key) == 0 &&
             std::ranges::count(kOnlyAtBeginning, key) + std::ranges::count(kResolved, key) == 0;
    });
  } catch (const UserError&) {
  }
  if (difference.empty()) return "";
  return fmt::format(
      "the run goes on with its own {}, not with {}: {}; --set changes a run that has begun",
      (*options.resume / "config.toml").string(), options.config.string(), difference);
}

// Settings of a beginning, which --resume refuses, do not count any more: the command is the same
// at every call.
Plan GoOn(TrainOptions options, const fs::path& run_dir) {
  options.resume = run_dir;
  std::erase_if(options.overrides, [](const std::string& setting) {
    std::string key = setting.substr(0, setting.find('='));
    std::erase_if(key, [](unsigned char c) { return std::isspace(c) != 0; });
    return key == "run.dir" || std::ranges::count(kOnlyAtBeginning, key) > 0;
  });
  Plan plan = PlanResume(options);
  plan.warning = IgnoredOf(options, plan.config);
  return plan;
}

// Whether a process of the run is at work on this machine: also a learner that has not locked
// anything there yet.
bool IsAlive(const fs::path& run_dir) {
  if (IsLocked(run_dir / "lock") || IsLocked(run_dir / "log")) return true;
  try {
    const auto root = monitor::RuntimeRootOf(LoadConfig(run_dir / "config.toml"));
    return root && wire::RuntimeDir::FindOwner(*root, run_dir);
  } catch (const UserError&) {
    return false;  // it has no configuration yet
  }
}

Plan Continue(const TrainOptions& options, const Waits& wait) {
  const fs::path run_dir = DirOf(options);
  // 1. Wait for processes that are still ending there. A run with a checkpoint goes on.
  while (IsAlive(run_dir) && wait()) continue;
  if (results::HasCheckpoint(run_dir)) return GoOn(options, run_dir);
  if (IsAlive(run_dir)) throw UserError(run_dir.string() + ": another process trains there");
  // 2. A learner writes a checkpoint before its first step: a run without one loses nothing by
  // beginning again. One that has lost its checkpoints is refused, as by --resume.
  if (!results::IsUnused(run_dir) && !results::IsFailedStart(run_dir)) {
    return GoOn(options, run_dir);
  }
  TrainOptions fresh = options;
  fresh.run_dir = run_dir;
  return PlanNew(fresh);
}

}  // namespace

Waits WaitsForAnEnd() {
  return [left = 100]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return left-- > 0;
  };
}

Plan PreparePlan(const TrainOptions& options, const Waits& wait) {
  if (options.resume) return PlanResume(options);
  return options.continues ? Continue(options, wait) : PlanNew(options);
}

}  // namespace starling::fleet
