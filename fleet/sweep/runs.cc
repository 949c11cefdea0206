#include "fleet/sweep/runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace starling::fleet {

std::vector<PointOutcome> OpenOutcomes(const Grid& grid) {
  std::vector<PointOutcome> outcomes;
  for (const GridPoint& point : grid.points) {
    outcomes.push_back({point.name, point.varied, {}});
    for (const std::uint64_t seed : grid.seeds) {
      outcomes.back().runs.push_back(
          {.seed = seed, .dir = fmt::format("{}/seed-{}", point.name, seed)});
    }
  }
  return outcomes;
}

std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes) {
  std::vector<Run> runs;
  std::string mistakes;
  for (std::size_t s = 0; s < grid.seeds.size(); ++s) {
    for (std::size_t p = 0; p < grid.points.size(); ++p) {
      RunOutcome& outcome = outcomes[p].runs[s];
      runs.push_back({grid.points[p], outcome, grid.dir / outcome.dir});
      Run& run = runs.back();
      Config config = run.point.config;
      config.run.seed = outcome.seed;
      try {
        CheckItIsOurs(run.dir, config);
      } catch (const UserError& error) {
        mistakes += (mistakes.empty() ? "" : "\n") + std::string(error.what());
        continue;
      }
      run.todo = WhatIsLeft(grid, run);
      outcome.summary = ReadRunSummary(run.dir);
      if (outcome.summary) run.before_s = outcome.summary->seconds;
      if (run.todo == Todo::kNothing) outcome.standing = RunStanding::kDone;
      if (run.todo == Todo::kNothing) outcome.eval = ReadFinalEval(run.dir);
    }
  }
  if (!mistakes.empty()) throw UserError(mistakes);
  return runs;
}

Todo WhatIsLeft(const Grid& grid, const Run& run) {
  return WhatIsLeft(LookAt(run.dir, run.point.config.run.steps, grid.eval_episodes));
}

std::vector<std::string> Arguments(const Grid& grid, const Run& run) {
  if (run.todo == Todo::kResume) return {"train", "--resume", run.dir.string()};
  if (run.todo == Todo::kEvaluate) {
    return {"eval", (run.dir / *run.outcome.summary->final_checkpoint).string(), "--json",
            "--episodes", std::to_string(grid.eval_episodes)};
  }
  std::vector<std::string> words = {"train", grid.config.string(), "--run-dir", run.dir.string()};
  std::vector<std::string> settings = run.point.overrides;
  settings.push_back(fmt::format("run.seed={}", run.outcome.seed));
  settings.push_back(fmt::format("run.name=\"{}\"", run.point.name));
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return words;
}

SweepLock::SweepLock(const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  fd_ = ::open((dir / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw UserError(
        fmt::format("the sweep's directory {} cannot be written: {}; give it another dir = \"...\"",
                    dir.string(), error ? error.message() : ::strerrordesc_np(errno)));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(fd_);
  throw UserError(
      fmt::format("another starling sweep is running in {}; wait for its end", dir.string()));
}

SweepLock::~SweepLock() { ::close(fd_); }

}  // namespace starling::fleet
