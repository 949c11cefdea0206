// The state from which a learner starts: initial weights, or the last good checkpoint; always in a
// new term.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "learner/counters.h"
#include "learner/storage/checkpoint.h"
#include "net/parameters.h"

namespace starling::learner {

// The net of a run: the layout of its parameters and their initial values.
struct InitialNet {
  net::ParameterLayout layout;
  std::vector<float> initial;
  std::string spaces{};  // of its environment, for those who read its checkpoints; opaque here
};

struct Start {
  TrainingState state{};
  Counters counters{};
  JournalPosition journal{};  // where it goes on; nowhere: a new one
  std::string checkpoint{};   // the one resumed from, relative to the run directory; "" if none
  std::string spaces{};       // InitialNet's
  std::optional<ActorStates> actors{};  // if that is a cut
  std::uint64_t reached = 0;            // version that ranks have to come to again
};

// Returns `content` as a checkpoint, with `spaces` of InitialNet. An empty optimizer state becomes
// zeros.
Checkpoint CheckpointOf(const Config& config, const net::ParameterLayout& layout,
                        std::string spaces, CheckpointContent content);

// Compares the newest report of the last learner in metrics.jsonl with the version up to which the
// run is known: a journal cannot know that its end is gone. Returns "at least 3 updates:
// metrics.jsonl has seen version 9, but the journal ends with version 6", or "".
std::string MissedByMetrics(const std::filesystem::path& run_dir, std::uint64_t reached);

// Whether the last learner has reported, in metrics.jsonl, that it ended at this version.
bool EndedAt(const std::filesystem::path& run_dir, std::uint64_t version);

class NoGoodCheckpoint : public UserError {
  using UserError::UserError;
};

// Training cannot go on, also not in another start of the learner.
class GaveUp : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws UserError if a learner cannot start so. To begin, there must be no checkpoint. To resume,
// there must be a good one (else it throws NoGoodCheckpoint) of this net, optimizer and seed,
// and of the same numbers. Changes nothing.
void CheckStart(const Config& config, const InitialNet& net, const std::filesystem::path& run_dir,
                bool resume);

// Calls CheckStart, then returns the start in a new term. Logs the checkpoint that it resumes, the
// damaged ones that it skips, and what is lost. While a full disk has no room for the claim of the
// term, a resumed run calls `await_room`, which waits a little and returns false to give up.
// `ranks_restart`: ranks (updates.exchange) start again with the same settings. If the checkpoint
// has their states, they repeat the updates after it.
Start FindStart(const Config& config, const InitialNet& net, const std::filesystem::path& run_dir,
                bool resume, const std::function<bool()>& await_room = {},
                bool ranks_restart = false);

// An `await_room`: returns false if `stop_fd` (-1: none) is readable or the run was `abandoned`.
// Throws GaveUp after kRoomWaitMs.
std::function<bool()> RoomWait(std::filesystem::path run_dir, int stop_fd,
                               std::function<bool()> abandoned = {});

}  // namespace starling::learner
