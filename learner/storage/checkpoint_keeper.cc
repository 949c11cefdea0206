#include "learner/storage/checkpoint_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/log.h"
#include "core/room.h"
#include "core/text.h"

namespace starling::learner {
namespace {

constexpr std::ptrdiff_t kMaxUnsaved = 2;  // checkpoints whose parts are being written

}  // namespace

CheckpointKeeper::CheckpointKeeper(const Config& config, const net::ParameterLayout& layout,
                                   const std::filesystem::path& run_dir, const Start& start,
                                   std::function<void()> on_result, const Clock& clock)
    : config_(config),
      layout_(layout),
      spaces_(start.spaces),
      clock_(clock),
      writer_(run_dir / "checkpoints",
              {.checkpoints = static_cast<std::size_t>(config.checkpoint.keep),
               .journal_bytes = config.journal.max_bytes()},
              std::move(on_result), {0, static_cast<std::size_t>(config.learner.shards)}),
      newest_(start.checkpoint),
      newest_version_(start.state.version) {}

void CheckpointKeeper::Save(CheckpointContent content) {
  // 1. A learner of one process writes at once.
  CheckpointWriter::Job job = Begin(std::move(content));
  const std::uint64_t version = job.checkpoint->version;
  if (job.checkpoint->weights.size() == layout_.size()) {
    if (!writer_.Submit(std::move(job))) WarnOfSlowDisk(version);
    return;
  }
  // 2. Shard 0 waits for the other parts. The other shards report every part they were asked for,
  //    so an abandoned checkpoint stays in the queue, too.
  const auto kept =
      std::ranges::count_if(unsaved_, [](const auto& u) { return u.job.checkpoint != nullptr; });
  if (kept >= kMaxUnsaved) {
    job = {};
    newest_begun_.reset();
    WarnOfSlowDisk(version);
  }
  unsaved_.push_back({version, std::move(job)});
  SaveCompleteParts();
}

void CheckpointKeeper::SaveLast(CheckpointContent content,
                                const std::function<void(std::int64_t)>& await,
                                const std::function<bool()>& give_up) {
  Save(std::move(content));
  Await(await);
  const std::int64_t begin_ms = clock_.NowMs();
  const auto waited_ms = [&] { return clock_.NowMs() - begin_ms; };
  if (lacks_room()) {
    LogWarn("the last checkpoint is tried again for {} minutes: free space there",
            kRoomWaitMs / 60'000);
  }
  while (lacks_room() && waited_ms() < kRoomWaitMs && !give_up()) {
    const std::int64_t next_ms = waited_ms() + kRoomRetryMs;
    while (waited_ms() < next_ms && !give_up()) await(waited_ms());
    Retry();
    Await(await);
  }
}

void CheckpointKeeper::Await(const std::function<void(std::int64_t)>& await) {
  while (!idle()) await(0);
  Collect();
}

CheckpointWriter::Job CheckpointKeeper::Begin(CheckpointContent content) {
  newest_begun_ = content.state.version;
  lacks_room_ = false;
  JournalSync sync = std::move(content.journal_sync);
  return {std::make_shared<Checkpoint>(CheckpointOf(config_, layout_, spaces_, std::move(content))),
          std::move(sync)};
}

void CheckpointKeeper::SaveCompleteParts() {
  while (!unsaved_.empty()) {
    const auto parts = parts_(unsaved_.front().version);
    if (!parts) return;
    const auto [version, job] = std::move(unsaved_.front());
    unsaved_.pop_front();
    if (!job.checkpoint) continue;
    if (!parts->empty()) {
      Fail(version, *parts);
    } else if (!writer_.Submit(job)) {
      Fail(version, "the disk is slower than checkpoint.every_steps");
    }
  }
}

void CheckpointKeeper::Collect() {
  while (const auto result = writer_.Poll()) {
    last_ = std::move(result->job);
    lacks_room_ = result->no_room && result->path.empty();
    if (result->path.empty()) {
      Fail(result->version, result->error);
      fenced_off_ |= result->fenced_off;
      continue;
    }
    error_.clear();
    newest_version_ = result->version;
    newest_ = "checkpoints/" + result->path.filename().string();
    LogInfo("wrote {}", newest_);
    Note(result->journal);
  }
}

void CheckpointKeeper::Retry() {
  newest_begun_ = last_.checkpoint->version;
  CHECK(writer_.Submit(std::exchange(last_, {})), "version {} is written twice", *newest_begun_);
}

std::optional<StateCopy> CheckpointKeeper::TakeSpare() {
  if (!last_.checkpoint) return std::nullopt;
  const auto last = std::exchange(last_.checkpoint, nullptr);
  return StateCopy{std::move(last->weights), std::move(last->optimizer_state)};
}

void CheckpointKeeper::Note(const JournalPruned& journal) {
  if (journal.segments > 0) {
    LogInfo("removed {} of the journal ({}B), {}B are left", Plural(journal.segments, "segment"),
            HumanCount(static_cast<double>(journal.removed)),
            HumanCount(static_cast<double>(journal.left)));
  }
  // The segment that is being written, and the rest of one that a replay begins in.
  constexpr std::uint64_t kSlack = 2 * JournalWriter::Options{}.segment_bytes;
  if (config_.journal.keep <= 0 || journal.left <= config_.journal.max_bytes() + kSlack ||
      std::exchange(journal_too_long_, true)) {
    return;
  }
  LogWarn(
      "the journal has {}B, more than journal.keep = {} GB: a replay from the oldest checkpoint "
      "needs them; lower checkpoint.keep or checkpoint.every_steps",
      HumanCount(static_cast<double>(journal.left)), config_.journal.keep);
}

void CheckpointKeeper::Finish() {
  writer_.Finish();
  Collect();
}

void CheckpointKeeper::Fail(std::uint64_t version, const std::string& error) {
  if (newest_begun_ == version) newest_begun_.reset();
  error_ = error;
  failed_ = true;
  failures_.Error(clock_.NowMs(), fmt::format("no checkpoint of version {}: {}", version, error));
}

void CheckpointKeeper::WarnOfSlowDisk(std::uint64_t version) {
  const double every_s = config_.checkpoint.every_s;
  slow_disk_.Warn(clock_.NowMs(),
                  fmt::format("the disk is slower than checkpoint.every_steps = {}{}: no "
                              "checkpoint of version {}",
                              config_.checkpoint.every_steps,
                              every_s > 0 ? fmt::format(", every_s = {}", every_s) : "", version));
}

}  // namespace starling::learner
