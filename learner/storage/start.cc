#include "learner/storage/start.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/room.h"
#include "core/text.h"
#include "learner/apply/optimizer.h"
#include "learner/run_status.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/same_numbers.h"
#include "learner/storage/terms.h"

namespace starling::learner {

namespace {

std::string Names(const std::vector<std::string>& slots) {
  std::string names;
  for (const std::string& slot : slots) names += (names.empty() ? "" : ", ") + slot;
  return slots.empty() ? "none" : names;
}

// A run keeps its correction, because a replay mends all of its gradients by one rule; and with a
// correction its bound or delay, which says how many versions that needs.
void CheckSameCorrection(const Config& config, const Checkpoint& from, const std::string& path) {
  const StalenessConfig& ours = config.staleness;
  const StalenessConfig theirs = ParseConfig(from.config, path).staleness;
  const auto check = [&](const char* key, bool same) {
    if (same) return;
    throw UserError(fmt::format("{} is another one than {} was trained with; a run keeps its "
                                "staleness.correction, and what belongs to it",
                                key, path),
                    key);
  };
  check("staleness.correction", ours.correction == theirs.correction);
  if (ours.correction == Correction::kNone) return;
  check("staleness.compensation", ours.compensation == theirs.compensation);
  check("staleness.bound", ours.bound == theirs.bound);
  check("staleness.delay", ours.delay == theirs.delay);
}

// Throws UserError if the configuration changes something that a run cannot change: normalised
// observations, net, optimizer kind, seed.
void CheckSameRun(const Config& config, const InitialNet& net, const Checkpoint& from,
                  const std::string& path) {
  CheckSameNumbers(config, from, path);
  if (from.layout.fingerprint() != net.layout.fingerprint()) {
    throw UserError(path +
                    " holds another net than the configuration describes; resume with the [net] "
                    "and [env] it was trained with");
  }
  CheckSameCorrection(config, from, path);
  const std::vector<std::string> slots =
      MakeOptimizerSpec(config.optimizer, config.staleness).slots;
  if (from.slot_names != slots) {
    throw UserError(
        fmt::format("{} holds the state of another optimizer ({}) than optimizer.kind = \"{}\" "
                    "keeps ({}); resume with the [optimizer] it was trained with",
                    path, Names(from.slot_names), NameOf(config.optimizer.kind), Names(slots)));
  }
  const std::uint64_t seed = ParseConfig(from.config, path).run.seed;
  if (seed != config.run.seed) {
    throw UserError(
        fmt::format("{} was trained with run.seed = {}; a run keeps its seed, {} needs a new run",
                    path, seed, config.run.seed));
  }
}

Start FromCheckpoint(const Config& config, Checkpoint from, const std::filesystem::path& path) {
  Start start;
  start.counters = Counters::Restore(from.counters);
  if (config.staleness.bound < start.counters.staleness.max()) {
    LogWarn("the run has had a larger staleness than staleness.bound = {}: its histogram restarts",
            config.staleness.bound);
    start.counters.staleness = {};
  }
  start.journal = from.journal;
  start.checkpoint = "checkpoints/" + path.filename().string();
  if (const auto states = ActorStatesPath(path); std::filesystem::exists(states)) {
    try {
      start.actors = ReadActorStates(states);
    } catch (const std::runtime_error& error) {
      LogWarn("{}", error.what());
    }
  }
  start.state = std::move(from);
  return start;
}

// Returns the last whole line of metrics.jsonl, if the learner of the newest term has written it.
std::optional<RunStatus> LastReport(const std::filesystem::path& run_dir) {
  constexpr std::uint64_t kBytes = 256 * 1024;  // a few long lines
  std::istringstream lines(ReadFileEnd(run_dir / "metrics.jsonl", kBytes));
  std::optional<RunStatus> last;
  for (std::string line; std::getline(lines, line);) {
    if (auto status = ParseStatus(line)) last = std::move(status);
  }
  return last && last->term == NewestTerm(run_dir / "checkpoints") ? last : std::nullopt;
}

// Describes the updates that the journal holds behind the checkpoint, "" if there are none. A redo
// (tools/replay/redo.h) would have made a checkpoint of them. `whole`: Checkpoint::journal_whole.
std::string WhatIsLost(const std::filesystem::path& run_dir, const Start& start, bool whole) {
  if (!whole) {
    return EndedAt(run_dir, start.state.version)
               ? ""
               : "what came after it may be lost: the journal has a gap";
  }
  try {
    const JournalTail tail = TailOf(run_dir / "journal", start.journal);
    std::string more =
        tail.damaged ? fmt::format("what follows the damage of the journal at {}", tail.where) : "";
    if (more.empty()) {
      more = MissedByMetrics(run_dir, std::max(start.state.version, tail.version));
    }
    if (tail.updates == 0) return more.empty() ? "" : "lost: " + more;
    return fmt::format("lost: {} after it{}", Counted(tail, start.state.steps),
                       more.empty() ? "" : ", and " + more);
  } catch (const std::runtime_error& error) {
    return fmt::format("lost: what came after it ({})", error.what());
  }
}

// The newest version that journal and metrics.jsonl know.
std::uint64_t Reached(const std::filesystem::path& run_dir, const Start& start) {
  std::uint64_t reached = start.state.version;
  if (const auto seen = LastReport(run_dir)) reached = std::max(reached, seen->version);
  try {
    reached = std::max(reached, TailOf(run_dir / "journal", start.journal).version);
  } catch (const std::runtime_error&) {  // damaged
  }
  return reached;
}

std::uint32_t ClaimOrWait(const std::filesystem::path& dir, CheckpointId from,
                          const std::function<bool()>& await_room) {
  bool said = false;
  while (true) {
    try {
      return ClaimTerm(dir, from);
    } catch (const std::system_error& error) {
      if (!await_room || !MayGetRoom(error.code().value())) throw;
      if (!std::exchange(said, true)) {
        LogWarn("{}; tried again for {} minutes: free space there", error.what(),
                kRoomWaitMs / 60'000);
      }
      if (!await_room()) throw;
    }
  }
}

}  // namespace

Checkpoint CheckpointOf(const Config& config, const net::ParameterLayout& layout,
                        std::string spaces, CheckpointContent content) {
  Checkpoint checkpoint{std::move(content.state),
                        content.journal,
                        content.journal_whole,
                        layout,
                        MakeOptimizerSpec(config.optimizer, config.staleness).slots,
                        ToToml(config),
                        std::move(spaces),
                        std::move(content.counters),
                        std::move(content.actors)};
  while (checkpoint.optimizer_state.size() < checkpoint.slot_names.size()) {
    checkpoint.optimizer_state.emplace_back(layout.size());
  }
  return checkpoint;
}

std::string MissedByMetrics(const std::filesystem::path& run_dir, std::uint64_t reached) {
  const auto seen = LastReport(run_dir);
  if (!seen || seen->version <= reached) return "";
  return fmt::format(
      "at least {}: metrics.jsonl has seen version {}, but the journal ends with version {}",
      Plural(seen->version - reached, "update"), Grouped(seen->version), Grouped(reached));
}

bool EndedAt(const std::filesystem::path& run_dir, std::uint64_t version) {
  const auto last = LastReport(run_dir);
  return last && last->phase == "done" && last->version == version;
}

void CheckStart(const Config& config, const InitialNet& net, const std::filesystem::path& run_dir,
                bool resume) {
  const auto dir = run_dir / "checkpoints";
  if (const RunLine line(dir); resume && !line.damaged().empty()) {
    throw UserError(line.damaged());
  }
  if (!resume && !ListCheckpoints(dir).empty()) {
    throw UserError(run_dir.string() + " has been trained already; --resume continues it");
  }
  if (!resume) return;
  const LastGoodResult last = LastGood(dir);
  if (!last.checkpoint) {
    throw NoGoodCheckpoint("no good checkpoint in " + dir.string() + ": the run cannot be resumed");
  }
  CheckSameRun(config, net, *last.checkpoint, last.path.string());
}

Start FindStart(const Config& config, const InitialNet& net, const std::filesystem::path& run_dir,
                bool resume, const std::function<bool()>& await_room, bool ranks_restart) {
  CheckStart(config, net, run_dir, resume);
  const auto dir = run_dir / "checkpoints";
  if (!resume) {
    Start start;
    start.spaces = net.spaces;
    start.state.weights = net.initial;
    start.state.term = ClaimTerm(dir, std::nullopt);
    return start;
  }
  LastGoodResult last = LastGood(dir);
  for (const std::string& why : last.rejected) LogWarn("{}", why);
  const bool whole = last.checkpoint->journal_whole;
  Start start = FromCheckpoint(config, *std::move(last.checkpoint), last.path);
  start.spaces = net.spaces;
  const std::string lost = WhatIsLost(run_dir, start, whole);
  const bool again = ranks_restart && start.actors;
  if (again) start.reached = Reached(run_dir, start);
  LogLine(lost.empty() || again ? LogLevel::kInfo : LogLevel::kWarn,
          fmt::format("resuming from {} (version {}, {} steps); {}", last.path.string(),
                      start.state.version, start.state.steps,
                      lost.empty() ? "nothing is lost"
                      : again      ? "the ranks make what came after it again"
                                   : lost));
  start.state.term =
      ClaimOrWait(dir, CheckpointId{start.state.term, start.state.version}, await_room);
  return start;
}

std::function<bool()> RoomWait(std::filesystem::path run_dir, int stop_fd,
                               std::function<bool()> abandoned) {
  return [run_dir = std::move(run_dir), stop_fd, abandoned = std::move(abandoned),
          left_ms = kRoomWaitMs]() mutable {
    pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
    const bool stopped = ::poll(&stop, 1, static_cast<int>(kRoomRetryMs)) > 0;
    left_ms -= kRoomRetryMs;
    if (left_ms < 0) {
      throw GaveUp(fmt::format("{} had no room for {} minutes: free space there, then --resume",
                               run_dir.string(), kRoomWaitMs / 60'000));
    }
    return !stopped && !(abandoned && abandoned());
  };
}

}  // namespace starling::learner
