// A run that is to be replayed, and the replay of a part of it.
//
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/config/config.h"
#include "monitor/console.h"
#include "net/parameters.h"
#include "tools/replay/beginning.h"
#include "tools/replay/replay.h"
#include "tools/replay/replayer.h"
#include "tools/replay/run_journal.h"

namespace starling::replay {

struct ReplayedRun {
  std::filesystem::path dir;
  Config config;
  JournalSummary journal;
  net::ParameterLayout layout;
};

// Throws UserError if the run cannot be replayed, or its journal and its configuration are not of
// one run.
ReplayedRun OpenRun(const std::filesystem::path& run_dir);

// The nearest beginning of a replay of the versions after `version`: a cut, or the first weights.
// Throws UserError if the journal before `version` is gone, and no cut is left.
Beginning NearestBeginning(const ReplayedRun& run, std::uint64_t version);

// The versions in (after, last].
struct VersionRange {
  std::uint64_t after = 0, last = 0;
};
// Without `after` the range begins with the journal, or at the oldest cut if the beginning of the
// journal is gone; without `until` it ends with the journal. Prints a warning if the journal breaks
// off. Throws UserError if the journal does not hold these versions, or the range is empty.
VersionRange RangeOf(const std::filesystem::path& run_dir, const JournalSummary& journal,
                     std::optional<std::uint64_t> after, std::optional<std::uint64_t> until);

// Returns kExitDone, or kExitFailed if the journal is damaged and the question was about all of it.
int Answered(const JournalSummary& journal, const ReplayOptions& options);
// Prints one sentence to standard error. Returns kExitFailed.
int Fail(const std::string& sentence);

// Does the updates of a run again, from a beginning on.
class ReplayedPart {
 public:
  // `run` must outlive it.
  ReplayedPart(const ReplayedRun& run, Beginning beginning);

  // Does the updates up to `version` or the end of the journal, and what follows before the next
  // one; calls `after_each` (may be empty) after each. Shows its progress in the last line of a
  // terminal. Returns false where the weights differ from the run's or records are missing: then
  // Error() says so. REQUIRES: it is called once.
  bool Until(std::uint64_t version, const std::function<void()>& after_each = {});

  Replayer& replayer() { return replayer_; }
  // One sentence; "" if there is no difference.
  std::string Error() const;

 private:
  const ReplayedRun& run_;
  JournalAhead ahead_;
  Replayer replayer_;
  const SteadyClock clock_;
  monitor::Console console_;
};

}  // namespace starling::replay
