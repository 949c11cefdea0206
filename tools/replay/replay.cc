#include "tools/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/checkpoint_format.h"
#include "learner/storage/start.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "tools/replay/bisect.h"
#include "tools/replay/branch.h"
#include "tools/replay/redo.h"
#include "tools/replay/replayed_run.h"
#include "tools/replay/timeline_page.h"

namespace starling::replay {
namespace {

// The newest checkpoint. The replay is compared with it when it reaches its version.
class Goal {
 public:
  explicit Goal(const std::filesystem::path& run_dir)
      : found_(learner::LastGood(run_dir / "checkpoints")) {
    if (!found_.rejected.empty()) {
      error_ = found_.rejected.front();
    } else if (!found_.checkpoint) {
      error_ = "there is no checkpoint to compare with in " + (run_dir / "checkpoints").string();
    }
  }

  void Pass(const Replayer& replayer) {
    if (passed_ || !found_.checkpoint || replayer.version() != found_.checkpoint->version) return;
    passed_ = true;
    const learner::StateCopy now = replayer.Now();
    bool same = SameBits(now.weights, found_.checkpoint->weights) &&
                now.state.size() == found_.checkpoint->optimizer_state.size();
    for (std::size_t i = 0; same && i < now.state.size(); ++i) {
      same = SameBits(now.state[i], found_.checkpoint->optimizer_state[i]);
    }
    if (!same) error_ = "weights or optimizer are not those of " + name();
  }

  bool passed() const { return passed_; }
  std::string name() const { return "checkpoints/" + found_.path.filename().string(); }
  // Returns the reason why the replay is not proven to be the same, or "". REQUIRES: the replay has
  // ended.
  std::string Error() const {
    if (!error_.empty() || passed_) return error_;
    return fmt::format("the journal ends before {}, so that was not compared", name());
  }

 private:
  const learner::LastGoodResult found_;
  std::string error_;
  bool passed_ = false;
};

// Where the replay begins. Throws UserError if it cannot.
Beginning BeginningOf(const ReplayOptions& options, const ReplayedRun& run) {
  if (!options.from_checkpoint && !run.journal.pruned) return AtFirstWeights(run.config);
  auto cut = options.from_checkpoint ? AtNewestCut(run.dir) : AtOldestCut(run.dir);
  if (!cut && options.from_checkpoint) {
    throw UserError(fmt::format("{} has no checkpoint with the states of its actors to begin at",
                                run.dir.string()));
  }
  if (!cut) {
    throw UserError(fmt::format(
        "{} begins at version {}, and there is no checkpoint with the states of its actors after "
        "that to begin at",
        (run.dir / "journal").string(), run.journal.first));
  }
  const std::string why = options.from_checkpoint ? "" : ": the journal before it is gone";
  std::printf("the replay begins at %s%s\n", cut->name.c_str(), why.c_str());
  return *std::move(cut);
}

std::string Counted(std::uint64_t count, const char* one, const char* many) {
  return Grouped(count) + " " + (count == 1 ? one : many);
}

// Throws UserError unless a checkpoint may be written there.
void CheckSave(const std::filesystem::path& path) {
  if (path.extension() != learner::kCheckpointSuffix) {
    throw UserError(fmt::format("--save {}: a checkpoint is called x{}", path.string(),
                                learner::kCheckpointSuffix));
  }
  if (results::IsFileOfARun(path)) {
    throw UserError(fmt::format("--save {}: this is a file of a run", path.string()));
  }
  CheckWritable("--save", path);
}

void Save(const ReplayedRun& run, Replayer& replayer, const std::filesystem::path& path) {
  learner::CheckpointContent content{.state = replayer.State(),
                                     .counters = replayer.counters().Save()};
  const auto net = results::InitialNetToResume(run.config, run.dir);
  const std::filesystem::path whole = std::filesystem::absolute(path);
  learner::WriteCheckpoint(
      whole.parent_path(), whole.filename().string(),
      learner::CheckpointOf(run.config, net.layout, net.spaces, std::move(content)));
  std::printf("%s: version %s\n", path.c_str(), std::to_string(replayer.version()).c_str());
}

// Replays all of the run, or up to options.until, and compares.
int Prove(const ReplayOptions& options) {
  // 1. The part: from the beginning or a cut to the last update.
  if (!options.save.empty()) CheckSave(options.save);
  const ReplayedRun run = OpenRun(options.run_dir);
  const JournalSummary& journal = run.journal;
  const std::uint64_t last = std::min(options.until.value_or(journal.last), journal.last);
  if (options.until && *options.until > journal.last) {
    FindUpdate(options.run_dir, *options.until);  // throws
  }
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  Beginning beginning = BeginningOf(options, run);
  const std::uint64_t first = beginning.state.version;
  if (options.until && *options.until < first) {
    throw UserError(fmt::format("version {} lies before the beginning of this replay, version {}",
                                *options.until, first));
  }
  if (last <= first && !options.until) {
    return Fail(fmt::format("nothing was compared: no update follows version {}{}", first,
                            journal.torn.empty() ? "" : "; " + journal.torn));
  }
  // 2. Replay. Every hash on the way and the newest checkpoint must agree.
  ReplayedPart part(run, std::move(beginning));
  Replayer& replayer = part.replayer();
  Goal goal(options.run_dir);
  goal.Pass(replayer);
  if (!part.Until(last, [&] { goal.Pass(replayer); })) return Fail(part.Error());
  // 3. Report the proof, or the reason why there is none.
  const bool proven = goal.passed() && goal.Error().empty();
  const std::string text = fmt::format(
      "replayed {} in {:.1f} s: {}{}", Counted(replayer.version() - first, "version", "versions"),
      static_cast<double>(clock.NowMs() - begin) / 1000,
      Counted(replayer.hashes(), "hash agrees", "hashes agree"),
      proven ? ", weights and optimizer are those of " + goal.name() + ", bit for bit" : "");
  std::printf("%s\n", text.c_str());
  if (goal.passed() && !proven) return Fail(goal.Error());
  if (!options.save.empty()) Save(run, replayer, options.save);
  if (options.until) return kExitDone;
  if (!journal.torn.empty()) std::printf("%s\n", journal.torn.c_str());
  if (!proven) return Fail(goal.Error());
  return journal.damaged ? kExitFailed : kExitDone;
}

}  // namespace

int RunReplay(const ReplayOptions& options) {
  if (options.write) return RunRedo(options);
  if (options.explain) {
    std::printf("%s", ToText(FindUpdate(options.run_dir, *options.explain)).c_str());
    return kExitDone;
  }
  FlushDenormals();
  if (options.page) return RunPage(options);
  if (options.without_actor) return RunBranch(options);
  if (options.bisect) return RunBisect(options);
  return Prove(options);
}

}  // namespace starling::replay
