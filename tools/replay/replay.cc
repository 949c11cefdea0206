#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "monitor/console.h"
#include "results/initial_net.h"
#include "results/trained.h"
#include "tools/replay/redo.h"
#include "tools/replay/replayer.h"

namespace starling::replay {
namespace {

// Throws UserError if a run with this configuration cannot be replayed.
Config ConfigOf(const std::filesystem::path& run_dir) {
  Config config = ConfigOfRun(run_dir);
  if (const std::string why = results::WhyNotReplayed(config); !why.empty()) {
    throw UserError(fmt::format("{} cannot be replayed: {}", run_dir.string(), why));
  }
  return config;
}

// Draws "replaying: version 12,000 of 31,250" in the last line of a terminal.
void ShowProgress(monitor::Console& console, std::uint64_t version, std::uint64_t last,
                  std::int64_t now_ms) {
  console.Draw(
      [&](const monitor::ProgressStyle&) {
        return fmt::format("replaying: version {} of {}", Grouped(version), Grouped(last));
      },
      now_ms);
}

int Fail(const std::string& sentence) {
  std::fprintf(stderr, "starling: %s\n", sentence.c_str());
  return kExitFailed;
}

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
Beginning BeginningOf(const ReplayOptions& options, const JournalSummary& journal,
                      const Config& config) {
  if (!options.from_checkpoint && !journal.pruned) return AtFirstWeights(config);
  auto cut = options.from_checkpoint ? AtNewestCut(options.run_dir) : AtOldestCut(options.run_dir);
  if (!cut && options.from_checkpoint) {
    throw UserError(fmt::format("{} has no checkpoint with the states of its actors to begin at",
                                options.run_dir.string()));
  }
  if (!cut) {
    throw UserError(fmt::format(
        "{} begins at version {}, and there is no checkpoint with the states of its actors after "
        "that to begin at",
        (options.run_dir / "journal").string(), journal.first));
  }
  const std::string why = options.from_checkpoint ? "" : ": the journal before it is gone";
  std::printf("the replay begins at %s%s\n", cut->name.c_str(), why.c_str());
  return *std::move(cut);
}

// Replays until version `last`, or until the weights differ from the run's.
void Replay(JournalAhead& journal, std::uint64_t last, Replayer& replayer, Goal& goal) {
  const SteadyClock clock;
  monitor::Console console(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO));
  goal.Pass(replayer);
  while (const auto record = journal.Next()) {
    const bool update = std::holds_alternative<learner::UpdateRecord>(*record);
    if (update && replayer.version() >= last) return;
    if (!replayer.Do(*record)) return;
    if (update) goal.Pass(replayer);
    ShowProgress(console, replayer.version(), last, clock.NowMs());
  }
}

std::string Counted(std::uint64_t count, const char* one, const char* many) {
  return Grouped(count) + " " + (count == 1 ? one : many);
}

}  // namespace

int RunReplay(const ReplayOptions& options) {
  if (options.write) return RunRedo(options);
  if (options.explain) {
    std::printf("%s", ToText(FindUpdate(options.run_dir, *options.explain)).c_str());
    return kExitDone;
  }
  // 1. Journal, configuration and first weights must be of one run.
  const Config config = ConfigOf(options.run_dir);
  const JournalSummary journal = ScanJournal(options.run_dir);
  const net::ParameterLayout layout = results::LayoutOf(config);
  if (layout.fingerprint() != journal.header.fingerprint ||
      config.run.seed != journal.header.seed) {
    throw UserError(fmt::format("the journal and the configuration in {} are not of one run",
                                options.run_dir.string()));
  }
  const std::uint64_t last = std::min(options.until.value_or(journal.last), journal.last);
  if (options.until && *options.until > journal.last) {
    FindUpdate(options.run_dir, *options.until);  // throws
  }

  // 2. Replay. Every hash on the way and the newest checkpoint must agree.
  FlushDenormals();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowMs();
  Beginning beginning = BeginningOf(options, journal, config);
  const std::uint64_t first = beginning.state.version;
  if (options.until && *options.until < first) {
    throw UserError(fmt::format("version {} lies before the beginning of this replay, version {}",
                                *options.until, first));
  }
  if (last <= first && !options.until) {
    return Fail(fmt::format("nothing was compared: no update follows version {}{}", first,
                            journal.torn.empty() ? "" : "; " + journal.torn));
  }
  JournalAhead ahead(options.run_dir, beginning.journal);
  Replayer replayer(config, ahead, std::move(beginning), layout);
  Goal goal(options.run_dir);
  if (replayer.difference().empty()) Replay(ahead, last, replayer, goal);
  if (!replayer.difference().empty()) {
    if (replayer.hole()) return Fail(replayer.difference());
    return Fail(replayer.difference() +
                ": was it trained by another program or on another kind of processor, or resumed "
                "with other settings?" +
                (journal.torn.empty() ? "" : " Also, " + journal.torn));
  }
  // 3. Report the proof, or the reason why there is none.
  const bool proven = goal.passed() && goal.Error().empty();
  const std::string text = fmt::format(
      "replayed {} in {:.1f} s: {}{}", Counted(replayer.version() - first, "version", "versions"),
      static_cast<double>(clock.NowMs() - begin) / 1000,
      Counted(replayer.hashes(), "hash agrees", "hashes agree"),
      proven ? ", weights and optimizer are those of " + goal.name() + ", bit for bit" : "");
  std::printf("%s\n", text.c_str());
  if (options.until) return kExitDone;
  if (!journal.torn.empty()) std::printf("%s\n", journal.torn.c_str());
  if (!proven) return Fail(goal.Error());
  return journal.damaged ? kExitFailed : kExitDone;
}

}  // namespace starling::replay
