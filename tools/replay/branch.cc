#include "tools/replay/branch.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/metrics.h"
#include "core/text.h"
#include "learner/engine.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/start.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "results/run_record.h"
#include "results/summary.h"
#include "tools/replay/branch_journal.h"
#include "tools/replay/replayed_run.h"

namespace starling::replay {
namespace {

namespace fs = std::filesystem;

// Throws UserError if the branch would lie in the run.
void CheckDir(const ReplayOptions& options, const ReplayedRun& run) {
  if (options.branch_dir.empty()) return;
  const fs::path dir = fs::weakly_canonical(fs::absolute(options.branch_dir));
  const fs::path inside = dir.lexically_relative(fs::weakly_canonical(fs::absolute(run.dir)));
  if (inside.empty() || *inside.begin() == "..") return;
  throw UserError(fmt::format("--run-dir {}: lies in the run itself; choose another",
                              options.branch_dir.string()));
}

// The directory of the branch, with the mark and the configuration of one.
Config MakeDir(const ReplayOptions& options, const ReplayedRun& run) {
  const fs::path plain = fs::weakly_canonical(fs::absolute(run.dir));
  const fs::path usual =
      plain.parent_path() /
      fmt::format("{}-without-{}", plain.filename().string(), *options.without_actor);
  const bool named = !options.branch_dir.empty();
  const fs::path dir = results::CreateRunDir(named ? options.branch_dir : usual, !named);
  results::MarkSimulated(dir, "replay --without-actor");
  Config config = run.config;
  config.run.dir = dir.string();
  config.run.name = dir.filename().string();
  results::WriteConfig(dir, config);
  return config;
}

// Seconds of training at `steps` of the run, by its metrics.jsonl: straight between two lines.
double SecondsAt(const std::vector<results::MetricPoint>& metrics, std::uint64_t steps) {
  const auto wanted = static_cast<double>(steps);
  results::MetricPoint before;
  for (const results::MetricPoint& point : metrics) {
    if (point.steps >= wanted) {
      const double share = (wanted - before.steps) / (point.steps - before.steps);
      return before.seconds + share * (point.seconds - before.seconds);
    }
    before = point;
  }
  return before.seconds;
}

// The training of a branch, from its journal.
struct Trained {
  learner::RunStatus status{};  // at its end
  std::string error{};          // why it was not computed, or not written; "" if it was
};

// Computes it, with a line of metrics at each of the moments and a checkpoint at the end.
Trained Train(const ReplayedRun& branch, const BranchPlan& plan, const std::vector<Moment>& moments,
              const std::vector<results::MetricPoint>& metrics_of_run) {
  // 1. The updates.
  Trained trained;
  MetricsFile metrics(branch.dir / "metrics.jsonl");
  ReplayedPart part(branch, NearestBeginning(branch, plan.after));
  Replayer& replayer = part.replayer();
  auto next = moments.begin();
  const bool same = part.Until(moments.back().version, [&] {
    if (next == moments.end() || next->version != replayer.version()) return;
    replayer.counters().seconds = SecondsAt(metrics_of_run, next->steps_of_run);
    ++next;
    trained.status = learner::StatusOf(branch.config, replayer.counters(), replayer.steps(),
                                       replayer.applied().back());
    trained.status.phase = "running";
    trained.status.version = replayer.version();
    trained.status.lr = replayer.last().lr;
    trained.status.entropy_coef = replayer.last().entropy;
    if (!metrics.Write(learner::MetricsLine(trained.status))) {
      trained.error = (branch.dir / "metrics.jsonl").string() + ": a line could not be written";
    }
  });
  if (!same) {
    trained.error = part.Error();
    return trained;
  }
  // 2. The checkpoint. It is no cut: nothing goes on from it.
  const learner::JournalTail tail = learner::TailOf(branch.dir / "journal", {});
  learner::CheckpointContent content{
      .state = replayer.State(), .counters = replayer.counters().Save(), .journal = tail.end};
  content.state.term = tail.end.term;
  const auto net = results::InitialNetToResume(branch.config, branch.dir);
  const auto path = learner::WriteCheckpoint(
      branch.dir / "checkpoints",
      learner::CheckpointOf(branch.config, net.layout, net.spaces, std::move(content)));
  trained.status.checkpoint = "checkpoints/" + path.filename().string();
  trained.status.term = tail.end.term;
  return trained;
}

// The branch beside the run. `return_of_run`: NaN if no episode ended.
void Print(const ReplayedRun& run, const BranchPlan& plan, const fs::path& dir,
           const learner::RunStatus& status, double return_of_run) {
  const auto row = [](const char* who, std::uint64_t updates, std::uint64_t steps, double mean) {
    return fmt::format("{:<10} {:>9} {:>13}   {}\n", who, Grouped(updates), Grouped(steps),
                       std::isfinite(mean) ? fmt::format("{:.4g}", mean) : "–");
  };
  const std::string text = fmt::format(
      "{}: {} without actor {} after version {}\n"
      "It is another run from there on, not what would have happened: the other actors keep their "
      "order.\n"
      "{:<10} {:>9} {:>13}   return of the last {} episodes\n{}{}left out: {}\n",
      dir.string(), run.dir.string(), plan.slot, plan.after, "", "updates", "steps",
      learner::Counters::kEpisodeWindow,
      row("the run", plan.version_of_run, plan.steps_of_run, return_of_run),
      row("the branch", status.version, status.steps, status.mean_return.value_or(NAN)),
      Plural(plan.left_out, "gradient"));
  std::printf("%s", text.c_str());
}

}  // namespace

int RunBranch(const ReplayOptions& options) {
  // 1. What it will be. The run itself must come out as it was: the branch has no hashes of its own
  //    that would tell of another program, plug-in or configuration.
  const ReplayedRun run = OpenRun(options.run_dir);
  const VersionRange range = RangeOf(run.dir, run.journal, options.after, options.until);
  const BranchPlan plan = PlanBranch(run, range, *options.without_actor);
  CheckDir(options, run);
  ReplayedPart whole(run, plan.beginning);
  // A gap is where both end.
  if (!whole.Until(plan.version_of_run) && !whole.replayer().hole()) return Fail(whole.Error());
  // 2. A run directory, with its journal; then its weights.
  const Config config = MakeDir(options, run);
  const fs::path dir = config.run.dir;
  Trained trained;
  try {
    const std::vector<Moment> moments = WriteBranchJournal(run, plan, config, dir);
    trained = Train(OpenRun(dir), plan, moments, results::LoadRun(run.dir).metrics);
  } catch (const std::exception& error) {
    trained.error = error.what();
  }
  // 3. Its summary.
  auto summary = results::BuildSummary(config, trained.status, {}, {}, trained.error);
  summary.simulated = true;
  const std::string problem = results::WriteSummary(dir, summary);
  if (!trained.error.empty()) return Fail(trained.error);
  if (!problem.empty()) return Fail("no summary: " + problem);
  Print(run, plan, dir, trained.status, whole.replayer().counters().mean_return());
  if (plan.version_of_run < range.last) {
    const std::string gap = fmt::format("the journal has a gap after version {}: both end there\n",
                                        plan.version_of_run);
    std::printf("%s", gap.c_str());
  }
  return Answered(run.journal, options);
}

}  // namespace starling::replay
