#include "tools/replay/redo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/file.h"
#include "core/file_descriptor.h"
#include "core/log.h"
#include "core/process.h"
#include "core/text.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/run_lock.h"
#include "learner/storage/terms.h"
#include "monitor/redo_status.h"
#include "results/trained.h"

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

class Redo {
 public:
  Redo(const ReplayOptions& options, const Config& config)
      : options_(options),
        config_(config),
        dir_(options.run_dir / "checkpoints"),
        journal_(options.run_dir / "journal"),
        newest_(learner::LastGood(dir_)) {}

  int Run() {
    if (!newest_.checkpoint && !std::filesystem::exists(journal_)) return kExitDone;
    // 1. What the newest checkpoint lacks.
    try {
      lost_ = learner::TailOf(
          journal_, newest_.checkpoint ? newest_.checkpoint->journal : learner::JournalPosition{});
    } catch (const std::runtime_error& error) {
      LogWarn("what came after {} cannot be redone: {}", NameOf(newest_), error.what());
      return kExitFailed;
    }
    // 2. Do it again, or name it.
    try {
      DoAgain();
    } catch (const std::runtime_error& error) {
      if (lost_.updates == 0) return kExitDone;
      LogWarn("{} after {} cannot be redone: {}", Counted(lost_, steps()), NameOf(newest_),
              error.what());
      return kExitFailed;
    }
    if (!lost_.damaged) return kExitDone;
    LogWarn("what came after version {} cannot be redone: the journal is damaged at {}",
            Grouped(std::max(lost_.version, version())), lost_.where);
    return kExitFailed;
  }

 private:
  std::uint64_t version() const { return newest_.checkpoint ? newest_.checkpoint->version : 0; }
  std::uint64_t steps() const { return newest_.checkpoint ? newest_.checkpoint->steps : 0; }

  // Throws std::runtime_error with the reason if it cannot.
  void DoAgain() {
    // 1. A cut to begin at.
    if (const std::string why = WhyNotReplayed(config_); !why.empty()) throw Impossible(why);
    if (config_.checkpoint.exact == Exactness::kFalse) {
      throw Impossible("checkpoint.exact = false, so no checkpoint has the states of its actors");
    }
    std::optional<Beginning> cut = FindCut();
    if (!cut) throw Impossible("no checkpoint has the states of its actors");
    const bool at_cut = newest_.checkpoint && cut->state.version == version();
    if (at_cut && lost_.updates == 0) return;
    const learner::JournalHeader header = learner::LineOf(journal_).front().header;
    const std::uint64_t fingerprint = results::LayoutOf(config_).fingerprint();
    if (header.fingerprint != fingerprint || header.seed != config_.run.seed) {
      throw Impossible("the journal and the configuration are not of one run");
    }

    // 2. The updates from there to the last one that is part of the run.
    const learner::JournalTail tail = learner::TailOf(journal_, cut->journal);
    if (tail.version != std::max(lost_.version, version())) {
      throw Impossible("the journal is not complete");
    }
    const learner::CheckpointId id{tail.end.term, tail.version};
    if (!learner::RunLine(dir_).Holds(id)) {
      throw Impossible("a later start of the learner has gone on without them");
    }
    for (const std::string& why : newest_.rejected) LogWarn("{}", why);
    LogInfo("redoing {} after {}", Counted(tail, cut->state.steps),
            cut->name.empty() ? "the first weights" : cut->name);
    const learner::JournalPosition from = cut->journal;
    learner::CheckpointContent content = ReplayTail(*std::move(cut), tail);

    // 3. The checkpoint, behind the journal that it stands on.
    content.state.term = id.term;
    content.journal = tail.end;
    SyncJournal(journal_, from);
    Write(std::move(content));
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
    JournalAhead ahead(options_.run_dir, cut.journal);
    Replayer replayer(config_, ahead, std::move(cut), results::LayoutOf(config_).fingerprint());
    while (replayer.version() < tail.version && replayer.difference().empty()) {
      const auto record = ahead.Next();
      if (!record) throw Impossible("the journal has become shorter");
      if (abandoned_()) throw Impossible("the supervisor has ended");
      if (!replayer.Do(*record)) break;
      Report({replayer.version() - first, tail.updates});
      const bool update = std::holds_alternative<learner::UpdateRecord>(*record);
      if (update && replayer.version() == version()) CompareWithNewest(replayer);
    }
    if (!replayer.difference().empty()) {
      throw Impossible(replayer.difference() +
                       " (was it trained by another program, or with other settings?)");
    }
    return replayer.Content();
  }

  void CompareWithNewest(const Replayer& replayer) const {
    if (replayer.Now().weights == newest_.checkpoint->weights) return;
    throw Impossible("done again, the weights are not those of " + NameOf(newest_));
  }

  void Report(const monitor::RedoStatus& status) {
    const std::int64_t now = clock_.NowMs();
    if (options_.status_fd < 0 || now < next_report_ms_) return;
    next_report_ms_ = now + kStatusMs;
    const std::string line = monitor::ToLine(status);
    [[maybe_unused]] const ssize_t wrote = ::write(options_.status_fd, line.data(), line.size());
  }

  void Write(learner::CheckpointContent content) const {
    // 1. If the newest checkpoint lacks only its states, they are added.
    if (newest_.checkpoint && content.state.version == version() &&
        content.journal == newest_.checkpoint->journal) {
      learner::WriteActorStates(learner::ActorStatesPath(newest_.path), *content.actors);
      return;
    }
    // 2. Else it is written whole. One that stands further behind its update is replaced first:
    //    states must not lie beside it.
    learner::Checkpoint checkpoint =
        learner::CheckpointOf(config_, results::LayoutOf(config_), std::move(content));
    if (newest_.checkpoint && checkpoint.version == version()) {
      const auto states = std::exchange(checkpoint.actors, std::nullopt);
      learner::WriteActorStates(
          learner::ActorStatesPath(learner::WriteCheckpoint(dir_, checkpoint)), *states);
    } else {
      learner::WriteCheckpoint(dir_, checkpoint);
    }
    LogInfo("wrote checkpoints/{}: nothing is lost",
            learner::CheckpointName(checkpoint.term, checkpoint.version));
  }

  const ReplayOptions& options_;
  const Config& config_;
  const std::filesystem::path dir_, journal_;
  const learner::LastGoodResult newest_;
  learner::JournalTail lost_;
  const std::function<bool()> abandoned_ = WatchParent(options_.parent);
  const SteadyClock clock_;
  std::int64_t next_report_ms_ = 0;
};

}  // namespace

int RunRedo(const ReplayOptions& options) {
  InitLog("redo");
  FlushDenormals();
  const Config config = ConfigOfRun(options.run_dir);
  const LockedFile lock = learner::LockRun(options.run_dir);
  return Redo(options, config).Run();
}

}  // namespace starling::replay
