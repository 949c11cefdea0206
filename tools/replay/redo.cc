#include "tools/replay/redo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/file.h"
#include "core/file_descriptor.h"
#include "core/log.h"
#include "core/process.h"
#include "core/room.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/run_lock.h"
#include "learner/storage/terms.h"
#include "monitor/redo_status.h"
#include "results/initial_net.h"
#include "results/run_record.h"
#include "results/trained.h"
#include "tools/replay/replayer.h"

namespace starling::replay {
namespace {

constexpr std::int64_t kStatusMs = 100;

std::string NameOf(const learner::LastGoodResult& newest) {
  return newest.checkpoint ? "checkpoints/" + newest.path.filename().string() : "the first weights";
}

// Why the tail cannot be done again.
class Impossible : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What was done again cannot be written, and a learner that starts without it would pass it over.
class Unwritten : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The checkpoint must not stand behind a journal that a power cut takes.
void SyncJournal(const std::filesystem::path& journal, learner::JournalPosition from) {
  for (const learner::LineSegment& one : learner::LineOf(journal)) {
    const learner::Segment& segment = one.segment;
    if (std::pair(segment.term, segment.segment) < std::pair(from.term, from.segment)) continue;
    const FileDescriptor file(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || (::fdatasync(file.get()) != 0 && errno != EINVAL)) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot sync " + segment.path.string());
    }
  }
  if (std::filesystem::is_directory(journal)) SyncDirectory(journal);
}

// A redo may take several times checkpoint.redo_s: cuts come late, and this machine may be slower.
constexpr double kMaxRedo = 10;

// Gives up a redo that would take too long: the updates are worth the time of one thread only if
// the fleet made them in a similar time. Without any checkpoint it takes as long as it takes.
class TimeLimit {
 public:
  TimeLimit(double limit_s, const Clock& clock)
      : limit_s_(limit_s), clock_(clock), begin_ms_(clock.NowMs()) {}

  // Throws Impossible if the time so far foretells more than the limit.
  void Check(const monitor::RedoStatus& status) const {
    const double spent_s = static_cast<double>(clock_.NowMs() - begin_ms_) / 1000;
    if (spent_s < limit_s_ / 10 || status.done == 0) return;  // an estimate would be a guess
    const double whole_s =
        spent_s / static_cast<double>(status.done) * static_cast<double>(status.updates);
    if (whole_s <= limit_s_) return;
    throw Impossible(fmt::format("it would take {} (raise checkpoint.redo_s to wait so long)",
                                 HumanTime(whole_s)));
  }

 private:
  const double limit_s_;
  const Clock& clock_;
  const std::int64_t begin_ms_;
};

class Redo {
 public:
  Redo(const ReplayOptions& options, const Config& config, const Clock& cpu,
       const std::function<bool()>& await_room)
      : options_(options),
        config_(config),
        await_room_(await_room),
        dir_(options.run_dir / "checkpoints"),
        journal_(options.run_dir / "journal"),
        newest_(learner::LastGood(dir_)),
        cpu_(cpu) {}

  int Run() {
    if (!newest_.checkpoint && !std::filesystem::exists(journal_)) return kExitDone;
    if (const std::string damaged = learner::RunLine(dir_).damaged(); !damaged.empty()) {
      LogWarn("nothing is redone: {}", damaged);
      return kExitFailed;
    }
    const bool whole = !newest_.checkpoint || newest_.checkpoint->journal_whole;
    if (!whole && learner::EndedAt(options_.run_dir, version())) return kExitDone;
    // 1. What the newest checkpoint lacks.
    try {
      lost_ = learner::TailOf(
          journal_, newest_.checkpoint ? newest_.checkpoint->journal : learner::JournalPosition{});
    } catch (const std::runtime_error& error) {
      LogWarn("what came after {} cannot be redone: {}", NameOf(newest_), error.what());
      return kExitFailed;
    }
    if (!whole) {
      LogWarn("what came after {} cannot be redone: the journal has a gap", NameOf(newest_));
      return kExitFailed;
    }
    // 2. Do it again, or name it. Nothing is missing where there are no states of actors.
    missed_ = learner::MissedByMetrics(options_.run_dir, std::max(lost_.version, version()));
    const std::string why_not = WhyNot();
    if (lost_.updates == 0 && !why_not.empty()) return kExitDone;
    try {
      if (!why_not.empty()) throw Impossible(why_not);
      if (RanksDoAgain()) return kExitDone;
      DoAgain();
    } catch (const Unwritten& error) {
      LogError("{}; {} not lost yet: free space there, or mend what is wrong, then --resume",
               error.what(), lost_.updates == 1 ? "this update is" : "these updates are");
      return kExitNotNow;
    } catch (const std::runtime_error& error) {
      LogWarn("{} {} cannot be redone: {}",
              lost_.updates > 0 ? Counted(lost_, steps()) + " after" : "the states of actors at",
              NameOf(newest_), error.what());
      return kExitFailed;
    }
    if (!lost_.damaged) {
      if (missed_.empty()) return kExitDone;
      LogWarn("lost: {}", missed_);
      return kExitFailed;
    }
    LogWarn("what came after version {} cannot be redone: the journal is damaged at {}",
            Grouped(std::max(lost_.version, version())), lost_.where);
    return kExitFailed;
  }

 private:
  std::uint64_t version() const { return newest_.checkpoint ? newest_.checkpoint->version : 0; }
  std::uint64_t steps() const { return newest_.checkpoint ? newest_.checkpoint->steps : 0; }

  std::string WhyNot() const {
    if (config_.checkpoint.exact == Exactness::kFalse) {
      return "checkpoint.exact = false, so no checkpoint has the states of its actors";
    }
    return results::WhyNotReplayed(config_);
  }

  // Whether the ranks that start next make the same updates again: all of them have their states.
  bool RanksDoAgain() const {
    const bool ranks = config_.updates.exchange == Exchange::kAllreduce;
    if (!options_.restart || !ranks || !newest_.checkpoint) return false;
    const std::filesystem::path path = learner::ActorStatesPath(newest_.path);
    if (!std::filesystem::exists(path)) return false;
    try {
      const std::size_t states = learner::ReadActorStates(path).actors.size();
      if (version() > 0 && states != static_cast<std::size_t>(config_.actors.count)) return false;
    } catch (const std::runtime_error&) {
      return false;  // damaged
    }
    LogInfo("{} after {} are left to the ranks, which make the same ones again",
            Counted(lost_, steps()), NameOf(newest_));
    return true;
  }

  // Throws std::runtime_error with the reason if it cannot.
  void DoAgain() {
    // 1. A cut to begin at.
    std::optional<Beginning> cut = FindCut();
    if (!cut) throw Impossible("no checkpoint has the states of its actors");
    if (cut->name == NameOf(newest_) && lost_.updates == 0) return;
    const learner::JournalHeader header = learner::JournalReader(journal_, cut->journal).header();
    const std::uint64_t fingerprint = results::LayoutOf(config_).fingerprint();
    if (header.fingerprint != fingerprint || header.seed != config_.run.seed) {
      throw Impossible("the journal and the configuration are not of one run");
    }

    // 2. The updates from there to the last one that is part of the run.
    const learner::JournalTail tail = learner::TailOf(journal_, cut->journal);
    if (tail.version != std::max(lost_.version, version())) {
      throw Impossible(tail.updates > 0 ? "the journal is not complete"
                                        : "it has the version of " + cut->name);
    }
    const learner::CheckpointId id{tail.end.term, tail.version};
    if (!learner::RunLine(dir_).Holds(id)) {
      throw Impossible("a later start of the learner has gone on without them");
    }
    for (const std::string& why : newest_.rejected) LogWarn("{}", why);
    LogInfo("redoing {} after {}", Counted(tail, cut->state.steps),
            cut->name.empty() ? "the first weights" : cut->name);
    const learner::JournalPosition from = cut->journal;
    cut->counters.seconds = SecondsAt(tail.steps, *cut);
    learner::CheckpointContent content = ReplayTail(*std::move(cut), tail);

    // 3. The checkpoint, behind the journal that it stands on.
    content.state.term = id.term;
    content.journal = tail.end;
    if (lost_.updates > 0 || !newest_.checkpoint) return WriteOrWait(from, std::move(content));
    SyncJournal(journal_, from);
    AddStates(std::move(content));
  }

  // Seconds of training up to `steps`: by the newest line of metrics.jsonl before, at the speed up
  // to there. The journal knows no times.
  double SecondsAt(std::uint64_t steps, const Beginning& cut) const {
    results::MetricPoint best{.steps = static_cast<double>(cut.state.steps),
                              .seconds = cut.counters.seconds};
    for (const results::MetricPoint& point : results::NewestMetrics(options_.run_dir)) {
      const bool between = point.steps <= static_cast<double>(steps) && point.steps >= best.steps;
      if (between && point.seconds >= best.seconds) best = point;
    }
    return best.steps > 0 ? best.seconds * static_cast<double>(steps) / best.steps : 0;
  }

  std::optional<Beginning> FindCut() const {
    if (!newest_.checkpoint) return AtFirstWeights(config_);
    const std::filesystem::path states = learner::ActorStatesPath(newest_.path);
    if (!std::filesystem::exists(states)) return AtNewestCut(options_.run_dir);
    learner::Checkpoint cut = *newest_.checkpoint;
    try {
      cut.actors = learner::ReadActorStates(states);
    } catch (const std::runtime_error& error) {
      LogWarn("{}", error.what());
      return AtNewestCut(options_.run_dir);
    }
    return AtCut(cut, newest_.path);
  }

  learner::CheckpointContent ReplayTail(Beginning cut, const learner::JournalTail& tail) {
    const std::uint64_t first = cut.state.version;
    const double redo_s = options_.redo_s.value_or(config_.checkpoint.redo_s);
    const TimeLimit limit(!newest_.checkpoint ? std::numeric_limits<double>::infinity()
                          : lost_.updates > 0 ? redo_s * kMaxRedo
                                              : redo_s,
                          cpu_);
    JournalAhead ahead(options_.run_dir, cut.journal);
    Replayer replayer(config_, ahead, std::move(cut), results::LayoutOf(config_));
    while (replayer.version() < tail.version && replayer.difference().empty()) {
      const auto record = ahead.Next();
      if (!record) throw Impossible("the journal has become shorter");
      if (abandoned_()) throw Impossible("the supervisor has ended");
      if (!replayer.Do(*record)) break;
      const monitor::RedoStatus status{replayer.version() - first, tail.updates};
      limit.Check(status);
      Report(status);
      const bool update = std::holds_alternative<learner::UpdateRecord>(*record);
      if (update && replayer.version() == version()) CompareWithNewest(replayer);
    }
    if (!replayer.difference().empty()) {
      throw Impossible(
          replayer.difference() +
          (replayer.hole() ? "" : " (was it trained by another program, or with other settings?)"));
    }
    return replayer.Content();
  }

  void CompareWithNewest(const Replayer& replayer) const {
    if (SameBits(replayer.Now().weights, newest_.checkpoint->weights)) return;
    throw Impossible("done again, the weights are not those of " + NameOf(newest_));
  }

  void Report(const monitor::RedoStatus& status) {
    last_report_ = status;
    const std::int64_t now = clock_.NowMs();
    if (options_.status_fd < 0 || now < next_report_ms_) return;
    next_report_ms_ = now + kStatusMs;
    const std::string line = monitor::ToLine(status);
    [[maybe_unused]] const ssize_t wrote = ::write(options_.status_fd, line.data(), line.size());
  }

  learner::Checkpoint CheckpointOf(learner::CheckpointContent content) const {
    const learner::InitialNet net = results::InitialNetToResume(config_, options_.run_dir);
    return learner::CheckpointOf(config_, net.layout, net.spaces, std::move(content));
  }

  // Waits while there is no room. Throws Unwritten in the end.
  void WriteOrWait(learner::JournalPosition from, learner::CheckpointContent content) {
    const learner::Checkpoint checkpoint = CheckpointOf(std::move(content));
    bool said = false;
    while (true) {
      try {
        SyncJournal(journal_, from);
        learner::WriteCheckpoint(dir_, checkpoint);
        break;
      } catch (const std::system_error& error) {
        const std::string what = fmt::format("version {} is done again and cannot be written: {}",
                                             Grouped(checkpoint.version), error.what());
        if (!MayGetRoom(error.code().value())) throw Unwritten(what);
        if (!std::exchange(said, true)) LogWarn("{}; no learner starts before", what);
        if (!await_room_()) throw Unwritten(what);
        if (abandoned_()) throw Impossible("the supervisor has ended");
        Report(last_report_);
      }
    }
    LogInfo("wrote checkpoints/{}{}", learner::CheckpointName(checkpoint.term, checkpoint.version),
            lost_.damaged || !missed_.empty() ? "" : ": nothing is lost");
  }

  // The newest checkpoint gets the states that it lacks. If it stands further behind its update
  // than they do, it is replaced first: they must not lie beside the old one.
  void AddStates(learner::CheckpointContent content) const {
    std::filesystem::path path = newest_.path;
    const learner::ActorStates states = *std::exchange(content.actors, std::nullopt);
    if (content.journal != newest_.checkpoint->journal) {
      path = learner::WriteCheckpoint(dir_, CheckpointOf(std::move(content)));
    }
    learner::WriteActorStates(learner::ActorStatesPath(path), states);
  }

  const ReplayOptions& options_;
  const Config& config_;
  const std::function<bool()>& await_room_;
  const std::filesystem::path dir_, journal_;
  const learner::LastGoodResult newest_;
  learner::JournalTail lost_;
  std::string missed_;  // MissedByMetrics
  const std::function<bool()> abandoned_ = WatchParent(options_.parent);
  const Clock& cpu_;
  const SteadyClock clock_;
  std::int64_t next_report_ms_ = 0;
  monitor::RedoStatus last_report_;
};

LockedFile LockSoon(const std::filesystem::path& run_dir, const std::function<bool()>& wait) {
  while (true) {
    try {
      return learner::LockRun(run_dir);
    } catch (const UserError&) {
      if (!wait()) throw;
    }
  }
}

}  // namespace

Waits PatientWaits() {
  using std::chrono::steady_clock;
  const auto wait = [](std::chrono::milliseconds step, std::chrono::milliseconds all) {
    return [=, end = std::optional<steady_clock::time_point>()]() mutable {
      if (!end) end = steady_clock::now() + all;
      std::this_thread::sleep_for(step);
      return steady_clock::now() < *end;
    };
  };
  using namespace std::chrono_literals;
  return {.for_room =
              wait(std::chrono::milliseconds(kRoomRetryMs), std::chrono::milliseconds(kRoomWaitMs)),
          .for_lock = wait(50ms, 5s)};
}

int RunRedo(const ReplayOptions& options, const Clock& cpu, const Waits& waits) {
  InitLog("redo");
  FlushDenormals();
  const Config config = ConfigOfRun(options.run_dir);
  const LockedFile lock = LockSoon(options.run_dir, waits.for_lock);
  return Redo(options, config, cpu, waits.for_room).Run();
}

}  // namespace starling::replay
