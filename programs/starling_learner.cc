// starling-learner: one learner. `starling train` starts it; by hand it may start before or after
// its actors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/version.h"
#include "fleet/check_config.h"
#include "fleet/shard_processes.h"
#include "learner/learner.h"
#include "learner/shards/shard.h"
#include "programs/checks.h"
#include "programs/run_by_hand.h"
#include "results/initial_net.h"
#include "results/trained.h"
#include "wire/runtime_dir.h"

namespace {

using namespace starling;

struct Options : programs::RunOptions {
  std::size_t shard = 0;
  std::string learner;
};

// A further process of a sharded learner. It reads the configuration of the run and ignores
// signals: the first process ends it.
int RunShard(const Options& options) {
  KeepFreedMemory();
  InitLog(fmt::format("shard {}", options.shard));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const Config config = LoadConfig(options.run_dir + "/config.toml", options.overrides);
  learner::Shard shard(config, results::LayoutOf(config),
                       {.run_dir = options.run_dir,
                        .learner = options.learner,
                        .shard = options.shard,
                        .abandoned = WatchParent(options.parent)});
  return shard.Run() ? kExitDone : kExitFailed;
}

int Run(const Options& options) {
  KeepFreedMemory();
  InitLog("learner");
  const bool supervised = options.supervised();
  // 1. Catch signals. With a supervisor a second one does not end the process: a signal to the
  // whole job arrives twice, directly and from the supervisor, which also enforces the deadline.
  const int stop_fd = CatchStopSignals(/*again_ends=*/!supervised);
  if (options.resume && !supervised) {
    if (const auto end = programs::RedoByHand(options.run_dir, stop_fd)) return *end;
  }
  // 2. Read the configuration, remove leftovers of killed runs, open the status pages.
  const Config config = programs::PrepareRun(options, fleet::CheckHasLearner);
  wire::RuntimeDir::RemoveStale(wire::RuntimeRoot(config.wire.runtime_dir));
  programs::Reports reports(config, options, options.status_fd);
  // 3. Build the learner and start its shards.
  std::optional<fleet::ShardProcesses> shards;
  learner::LearnerOptions setup{.run_dir = options.run_dir,
                                .resume = options.resume,
                                .exact = results::WhyNotExact(config).empty(),
                                .redo = results::WhyNotReplayed(config).empty(),
                                .stop_fd = stop_fd,
                                .reload_fd = config.wire.secret.empty() ? -1 : CatchReloadSignal(),
                                .abandoned = WatchParent(options.parent),
                                .shard_ended = [&] { return shards ? shards->FindEnded() : ""; },
                                .sinks = reports.Sinks()};
  learner::Learner learner(config,
                           options.resume ? results::InitialNetToResume(config, options.run_dir)
                                          : results::InitialNetOf(config),
                           std::move(setup));
  if (config.learner.shards > 1) {
    shards.emplace(static_cast<std::size_t>(config.learner.shards) - 1, options.run_dir,
                   options.overrides, learner.shards_endpoint(), !options.resume);
  }
  // 4. Train, then report.
  const bool over = learner.Run();
  if (shards) shards->AwaitEnd();
  return reports.SumUp({over, learner.checkpoint_error(), learner.gave_up()});
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  Options options;
  CLI::App app("One learner: owns the weights, applies the gradients of its actors.",
               "starling-learner");
  app.set_version_flag("--version", VersionLine("starling-learner"));
  programs::AddOptions(app, options);
  app.add_option("--shard", options.shard, "number of this shard, from 1");
  app.add_option("--learner", options.learner, "endpoint of the learner's first process");
  try {
    app.parse(argc, argv);
    return options.shard > 0 ? RunShard(options) : Run(options);
  } catch (const CLI::ParseError& error) {
    return programs::Flushed("starling-learner", app.exit(error) == 0 ? kExitDone : kExitUserError);
  } catch (const UserError& error) {
    // Without a supervisor as `starling` does, a line for each mistake in a configuration.
    if (options.status_fd < 0) programs::PrintError(error.what());
    if (options.status_fd >= 0) LogError("{}", error.what());
    return kExitUserError;
  } catch (const learner::GaveUp& error) {
    LogError("{}", error.what());
    return options.status_fd >= 0 ? kExitGaveUp : kExitFailed;
  } catch (const std::exception& error) {
    LogError("{}", error.what());
    return kExitFailed;
  }
}
