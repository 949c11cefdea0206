// starling-learner: one learner. Started by `starling train`, or by hand in any order with its
// actors.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/version.h"
#include "fleet/blueprint.h"
#include "fleet/process.h"
#include "learner/learner.h"
#include "wire/runtime_dir.h"

namespace {

using namespace starling;

struct Options {
  std::string config, run_dir;
  std::vector<std::string> overrides;
  bool resume = false;
  int status_fd = -1;
  int parent = 0;
};

// A line per status to the supervisor. It never waits: if the pipe is full the supervisor has older
// ones to read, and the next line says it all.
void WriteLine(int fd, const nlohmann::ordered_json& status) {
  const std::string line = status.dump() + "\n";
  [[maybe_unused]] const auto written = write(fd, line.data(), line.size());
}

int Run(const Options& options) {
  InitLog("learner");
  const int stop_fd = fleet::CatchStopSignals();
  const Config config = LoadConfig(options.run_dir + "/config.toml");
  wire::RunPlace::RemoveStale(wire::RuntimeRoot(config.wire.runtime_dir));
  learner::LearnerOptions setup{.run_dir = options.run_dir,
                                .resume = options.resume,
                                .stop_fd = stop_fd,
                                .abandoned = fleet::WatchParent(options.parent),
                                .on_status = {}};
  if (options.status_fd >= 0) {
    setup.on_status = [fd = options.status_fd](const auto& status) { WriteLine(fd, status); };
  }
  learner::Learner learner(config, fleet::BlueprintOf(config), std::move(setup));
  learner.Run();
  if (!learner.checkpoint_trouble().empty()) {
    LogError("the last checkpoint could not be written: {}", learner.checkpoint_trouble());
    return kExitFailed;
  }
  return kExitDone;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One learner: owns the weights, applies the gradients of its actors.",
               "starling-learner");
  app.set_version_flag("--version", VersionLine("starling-learner"));
  app.add_option("--run-dir", options.run_dir, "run directory, with its config.toml")->required();
  app.add_flag("--resume", options.resume, "go on from the last good checkpoint");
  app.add_option("--status-fd", options.status_fd, "descriptor for status lines (JSON)");
  app.add_option("--parent", options.parent, "process id of the supervisor");
  try {
    app.parse(argc, argv);
    return Run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUserError;
  } catch (const UserError& error) {
    LogError("{}", error.what());
    return kExitUserError;
  } catch (const std::exception& error) {
    LogError("{}", error.what());
    return kExitFailed;
  }
}
