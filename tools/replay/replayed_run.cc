#include "tools/replay/replayed_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/text.h"
#include "envs/registry.h"
#include "results/initial_net.h"
#include "results/trained.h"

namespace starling::replay {

ReplayedRun OpenRun(const std::filesystem::path& run_dir) {
  Config config = ConfigOfRun(run_dir);
  if (const std::string why = results::WhyNotReplayed(config); !why.empty()) {
    throw UserError(fmt::format("{} cannot be replayed: {}", run_dir.string(), why));
  }
  JournalSummary journal = ScanJournal(run_dir);
  net::ParameterLayout layout = results::LayoutOf(config);
  if (layout.fingerprint() != journal.header.fingerprint ||
      config.run.seed != journal.header.seed) {
    throw UserError(fmt::format("the journal and the configuration in {} are not of one run",
                                run_dir.string()));
  }
  return {run_dir, std::move(config), std::move(journal), std::move(layout)};
}

Beginning NearestBeginning(const ReplayedRun& run, std::uint64_t version) {
  if (auto cut = AtNewestCutUpTo(run.dir, version)) return *std::move(cut);
  if (!run.journal.pruned) return AtFirstWeights(run.config);
  throw UserError(fmt::format(
      "{} begins at version {}, and there is no checkpoint with the states of its actors up to "
      "version {} to begin at",
      (run.dir / "journal").string(), run.journal.first, version));
}

VersionRange RangeOf(const std::filesystem::path& run_dir, const JournalSummary& journal,
                     std::optional<std::uint64_t> after, std::optional<std::uint64_t> until) {
  for (const auto& asked : {after, until}) {
    if (asked.value_or(0) > journal.last) FindUpdate(run_dir, *asked);  // throws
  }
  if (journal.last == 0) {
    throw UserError((run_dir / "journal").string() + " has no updates");
  }
  if (!journal.torn.empty()) std::fprintf(stderr, "starling: %s\n", journal.torn.c_str());
  VersionRange range{.after = after.value_or(0), .last = until.value_or(journal.last)};
  if (!after && journal.pruned) {
    const auto cut = AtOldestCut(run_dir);
    range.after = cut ? cut->state.version : journal.first - 1;
  }
  if (range.after >= range.last || range.last < journal.first) {
    throw UserError(fmt::format(
        "--after {} and --until {} leave no version: {} has those from {} to {}", range.after,
        range.last, (run_dir / "journal").string(), journal.first, journal.last));
  }
  return range;
}

int Answered(const JournalSummary& journal, const ReplayOptions& options) {
  return journal.damaged && !options.until ? kExitFailed : kExitDone;
}

int Fail(const std::string& sentence) {
  std::fprintf(stderr, "starling: %s\n", sentence.c_str());
  return kExitFailed;
}

ReplayedPart::ReplayedPart(const ReplayedRun& run, Beginning beginning)
    : run_(run),
      ahead_(run.dir, beginning.journal),
      replayer_(run.config, ahead_, std::move(beginning), run.layout),
      console_(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO)) {}

bool ReplayedPart::Until(std::uint64_t version, const std::function<void()>& after_each) {
  while (replayer_.difference().empty()) {
    const auto record = ahead_.Next();
    if (!record) break;
    const bool update = std::holds_alternative<learner::UpdateRecord>(*record);
    if ((update && replayer_.version() >= version) || !replayer_.Do(*record)) break;
    if (update && after_each) after_each();
    console_.Draw(
        [&](const monitor::ProgressStyle&) {
          return fmt::format("replaying: version {} of {}", Grouped(replayer_.version()),
                             Grouped(version));
        },
        clock_.NowMs());
  }
  console_.Clear();  // what is printed next stands in a line of its own
  return replayer_.difference().empty();
}

std::string ReplayedPart::Error() const {
  const std::string& difference = replayer_.difference();
  if (difference.empty() || replayer_.hole()) return difference;
  const std::string& torn = run_.journal.torn;
  return fmt::format(
      "{}: was it trained by another program or on another kind of processor, or resumed with "
      "other settings{}?{}",
      difference,
      envs::IsForeign(run_.config.env.name)
          ? ", or has its plug-in changed since, or does it draw numbers of its own"
          : "",
      torn.empty() ? "" : " Also, " + torn);
}

}  // namespace starling::replay
