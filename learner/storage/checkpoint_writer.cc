// Checkpoints in a thread of their own.
#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/room.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/checkpoint_format.h"
#include "learner/storage/terms.h"

namespace starling::learner {
namespace {

class FencedOff : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

CheckpointWriter::CheckpointWriter(std::filesystem::path dir, Keep keep,
                                   std::function<void()> on_result, ShardOf which)
    : dir_(std::move(dir)),
      keep_(keep),
      on_result_(std::move(on_result)),
      which_(which),
      thread_([this] { Run(); }) {}

CheckpointWriter::~CheckpointWriter() { Finish(); }

bool CheckpointWriter::Submit(Job job) {
  CountPending(1);
  const bool taken = queue_.TryPush(std::move(job));
  if (!taken) CountPending(-1);
  return taken;
}

// Counts up before the item is in the queue, so the writer's thread never counts below zero.
void CheckpointWriter::CountPending(int change) {
  std::lock_guard lock(mutex_);
  pending_ += static_cast<std::size_t>(change);
}

std::optional<CheckpointWriter::Result> CheckpointWriter::Poll() {
  std::lock_guard lock(mutex_);
  if (results_.empty()) return std::nullopt;
  Result result = std::move(results_.front());
  results_.pop_front();
  return result;
}

std::size_t CheckpointWriter::pending() const {
  std::lock_guard lock(mutex_);
  return pending_;
}

void CheckpointWriter::Finish() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

std::filesystem::path CheckpointWriter::Write(const Job& job) {
  if (!std::filesystem::exists(dir_)) {
    throw std::runtime_error(fmt::format(
        "{} is gone; was the run's directory moved or deleted while it trains?", dir_.string()));
  }
  try {
    job.journal.Run();
  } catch (const std::system_error& error) {
    throw std::runtime_error(error.what());  // not to be tried again: a disk reports it only once
  }
  const Checkpoint& checkpoint = *job.checkpoint;
  if (const std::uint32_t newest = NewestTerm(dir_); newest > checkpoint.term) {
    throw FencedOff(
        fmt::format("another learner has taken over the run as term {}; nothing that "
                    "this one, term {}, has done since is part of it",
                    newest, checkpoint.term));
  }
  // Shard 0 writes after all others, so its part makes the checkpoint complete.
  const bool whole = checkpoint.weights.size() == checkpoint.layout.size();
  if (whole) return WriteCheckpoint(dir_, checkpoint, &progress_);
  WriteCheckpointPart(dir_, checkpoint, which_, &progress_);
  if (which_.shard > 0) return {};
  if (checkpoint.actors) {
    const auto path = dir_ / CheckpointStem(checkpoint.term, checkpoint.version);
    WriteActorStates(ActorStatesPath(path), *checkpoint.actors);
  }
  return CommitCheckpointParts(dir_, checkpoint.term, checkpoint.version);
}

void CheckpointWriter::Run() {
  while (auto job = queue_.Pop()) {
    Result result{.term = job->checkpoint->term, .version = job->checkpoint->version};
    try {
      result.path = Write(*job);
      if (which_.shard == 0) {
        Prune(dir_, keep_.checkpoints);
        if (keep_.journal_bytes < UINT64_MAX) {
          result.journal = PruneJournal(dir_.parent_path() / "journal",
                                        OldestCut(ListCheckpoints(dir_)), keep_.journal_bytes);
        }
      }
    } catch (const FencedOff& fenced) {
      result.error = fenced.what();
      result.fenced_off = true;
    } catch (const std::system_error& error) {
      // A full disk must not end the run. The older checkpoints are unchanged.
      result.error = error.what();
      result.no_room = MayGetRoom(error.code().value());
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    result.job = *std::move(job);
    {
      std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
      --pending_;
    }
    if (on_result_) on_result_();
  }
}

}  // namespace starling::learner
